//! The page at `/`: the status for a person, also on a phone. It loads nothing and runs nothing; it asks the browser to
//! come back every few seconds.

use std::fmt::{self, Write as _};

use crate::observe::status::{ComponentRow, ConnectionRow, MaterialRow, Status};

/// What a browser may do with the page: apply the one style sheet in it, and nothing else.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'sha256-9n+UuawYYxYwpSuMV6N5jccZiX2wC+5mo9M2kCEM2go='; \
                                 base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) const STYLE: &str = include_str!("page.css");

/// The page for a status.
pub(super) fn render(status: &Status) -> String {
    let mut page = String::with_capacity(16 * 1024);
    // Writing to a string does not fail.
    let _ = write_page(&mut page, status);
    page
}

fn write_page(page: &mut String, status: &Status) -> fmt::Result {
    let verdict = if status.ready {
        r#"<strong class="good">ready</strong>"#
    } else {
        r#"<strong class="bad">not ready</strong>"#
    };
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"refresh\" content=\"5\"><title>Iris: {}</title><style>{STYLE}</style></head>\n<body>\
         <header><h1>Iris</h1>{verdict}<span class=\"quiet\">{} · up {} · configuration {} · {}</span></header>\n",
        if status.ready { "ready" } else { "not ready" },
        Escaped(status.version),
        Span(status.uptime_seconds),
        status.generation,
        Escaped(&status.clock),
    )?;
    if status.development {
        page.push_str(
            "<p class=\"warn\">Development mode: the configuration permits what no production system should.</p>\n",
        );
    }
    for reason in &status.reasons {
        writeln!(page, "<p class=\"bad\">{}</p>", Escaped(reason))?;
    }
    cards(page, "Listeners", &status.listeners, write_component)?;
    cards(page, "Upstreams", &status.upstreams, write_component)?;
    cards(page, "Materials", &status.materials, write_material)?;
    write_connections(page, status.connections.total, &status.connections.first)?;
    page.push_str(
        "<p class=\"quiet\"><a href=\"/status?pretty\">status</a> · <a href=\"/metrics\">metrics</a> · \
                   <a href=\"/readyz?verbose\">readiness</a></p>\n</body></html>\n",
    );
    Ok(())
}

fn cards<R>(page: &mut String, title: &str, rows: &[R], write_row: fn(&mut String, &R) -> fmt::Result) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h2>{title}</h2>\n<div class=\"grid\">")?;
    for row in rows {
        page.push_str("<section class=\"card\">");
        write_row(page, row)?;
        page.push_str("</section>\n");
    }
    page.push_str("</div>\n");
    Ok(())
}

fn write_component(page: &mut String, row: &ComponentRow) -> fmt::Result {
    let verdict =
        if row.ready { r#"<span class="good">ready</span>"# } else { r#"<span class="bad">not ready</span>"# };
    write!(page, "<h3>{} {verdict}</h3><p><code>{}</code>", Escaped(&row.name), Escaped(&row.address))?;
    if let Some(bound) = row.bound {
        write!(page, " <span class=\"quiet\">bound to {bound}</span>")?;
    }
    write!(page, "</p><p>{} active <span class=\"quiet\">of {} so far</span></p>", row.active, row.established)?;
    if let Some(reason) = &row.reason {
        write!(page, "<p class=\"bad\">{}</p>", Escaped(reason))?;
    }
    for role in &row.roles {
        write!(
            page,
            "<p class=\"quiet\">{}: <span class=\"{}\">{}</span></p>",
            role.material,
            tone(role.state),
            role.state
        )?;
    }
    Ok(())
}

fn write_material(page: &mut String, row: &MaterialRow) -> fmt::Result {
    write!(
        page,
        "<h3>{} <span class=\"{}\">{}</span></h3><p class=\"quiet\">{} · {} · generation {}</p>",
        Escaped(&row.name),
        tone(row.state),
        row.state,
        row.kind.as_str(),
        Escaped(row.source),
        row.sequence,
    )?;
    if let (Some(expires), Some(left)) = (&row.expires, row.expires_in_seconds) {
        let when = Span(left.unsigned_abs());
        let left = if left < 0 { format!("{when} ago") } else { format!("in {when}") };
        write!(page, "<p>ends {left} <span class=\"quiet\">{}</span></p>", Escaped(expires))?;
    }
    if let Some(until) = &row.held_until {
        write!(page, "<p class=\"warn\">a replacement starts at {}</p>", Escaped(until))?;
    }
    if let Some(refusal) = &row.last_refusal {
        let tone = if row.candidate_rejected { "bad" } else { "quiet" };
        write!(
            page,
            "<p class=\"{tone}\">refused {} ago: {}: {}: {}</p>",
            Span(refusal.age_seconds),
            Escaped(refusal.reason),
            Escaped(&refusal.file),
            Escaped(&refusal.detail)
        )?;
    }
    if !row.warnings.is_empty() {
        write!(page, "<p class=\"warn\">{}</p>", row.warnings.join(", "))?;
    }
    for certificate in row.certificates.iter().take(3) {
        write!(
            page,
            "<p>{}<br><span class=\"quiet\">{}</span><br><code>{}</code></p>",
            Escaped(&certificate.subject),
            Escaped(&certificate.names.join(", ")),
            Escaped(&certificate.sha256)
        )?;
    }
    if row.certificates_total > 3 {
        write!(page, "<p class=\"quiet\">and {} more certificates</p>", row.certificates_total - 3)?;
    }
    Ok(())
}

fn write_connections(page: &mut String, total: usize, rows: &[ConnectionRow]) -> fmt::Result {
    writeln!(page, "<h2>Connections: {total}</h2>")?;
    if rows.is_empty() {
        return Ok(());
    }
    page.push_str(
        "<div class=\"wide\"><table><tr><th>listener</th><th>upstream</th><th>peer</th><th>server name</th><th>ALPN</th>\
         <th class=\"number\">age</th><th class=\"number\">streams</th><th class=\"number\">bytes up</th>\
         <th class=\"number\">bytes down</th></tr>\n",
    );
    for row in rows {
        writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            Escaped(&row.listener),
            Escaped(&row.upstream),
            row.peer,
            Escaped(row.server_name.as_deref().unwrap_or("")),
            Escaped(row.alpn.as_deref().unwrap_or("")),
            Span(row.age_seconds),
            row.streams,
            row.bytes_upstream,
            row.bytes_downstream,
        )?;
    }
    page.push_str("</table></div>\n");
    Ok(())
}

/// The colour of a material's state.
fn tone(state: &str) -> &'static str {
    match state {
        "active" => "good",
        "expiring" | "held" => "warn",
        _ => "bad",
    }
}

/// Text inside an element or a quoted attribute.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Seconds as two units that a person reads at a glance.
struct Span(u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, hours, minutes, seconds) = (self.0 / 86_400, self.0 / 3_600 % 24, self.0 / 60 % 60, self.0 % 60);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds} s"),
            (0, 0, _) => write!(f, "{minutes} min {seconds} s"),
            (0, ..) => write!(f, "{hours} h {minutes} min"),
            _ => write!(f, "{days} d {hours} h"),
        }
    }
}
