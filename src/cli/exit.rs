//! Exit codes.

use std::process::ExitCode;

/// How a command ended. The numbers above 63 are those of `sysexits.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// All is well.
    Success = 0,
    /// Problems were found.
    Problems = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Probe: nobody is there.
    Unreachable = 10,
    /// Probe: it took too long.
    Timeout = 11,
    /// Probe: the other end speaks something else.
    Protocol = 12,
    /// Probe: no application protocol in common.
    Alpn = 13,
    /// Probe: no CA vouches for the server.
    UnknownIssuer = 20,
    /// Probe: the server goes by other names.
    Name = 21,
    /// Probe: a certificate of the server has ended.
    Expired = 22,
    /// Probe: a certificate of the server has not begun.
    NotYetValid = 23,
    /// Probe: a certificate of the server was revoked.
    Revoked = 24,
    /// Probe: a certificate of the server cannot be used.
    BadCertificate = 25,
    /// Probe: there was nothing to verify by.
    NotVerified = 26,
    /// Probe: the server refused the client.
    ClientCertificate = 30,
    /// A socket cannot be bound, or the operating system refuses something else.
    System = 71,
    /// The configuration is wrong.
    Configuration = 78,
}

/// The table of `--help`.
pub(super) const TABLE: &str = "\
Exit codes:
  0   success; of `run` also after SIGTERM or SIGINT
  1   problems were found; demo: an expectation did not hold; probe: a file cannot be used
  2   wrong usage
  10 to 30: probe: what failed; see `iris probe --help`
  71  run: a socket cannot be bound; run, probe: the system refuses something else
  78  run: the configuration is wrong; every problem is listed";

/// The table of `iris probe --help`, which `docs/probe.md` has too.
pub(super) const PROBE_TABLE: &str = "\
Exit codes:
  0   connected, verified, and nobody was refused
  1   a file of the command line cannot be used
  2   wrong usage
  10  unreachable: no such host, nobody listens, or the connection was refused
  11  timeout: no answer, or none to the end
  12  protocol: something else than TLS or QUIC, or no version or cipher suite in common
  13  alpn: no application protocol in common
  20  unknown issuer: no CA of --ca vouches for the server
  21  name: the certificate bears other names, or nobody of that name is served there
  22  expired: a certificate of the server has ended
  23  not yet valid: a certificate of the server has not begun
  24  revoked: a certificate of the server is on a list of --crl
  25  bad certificate: malformed, for another use, or without the key to it
  26  not verified: connected, but no --ca was given
  30  client certificate: the server wants one, or refuses the one that was shown
  71  the system refuses something, such as a socket";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(table: &str, exit: Exit) -> bool {
        table.contains(&format!("\n  {:<4}", exit as u8))
    }

    #[test]
    fn the_tables_have_every_code() {
        for exit in [Exit::Success, Exit::Problems, Exit::Usage, Exit::System] {
            assert!(has(TABLE, exit) && has(PROBE_TABLE, exit), "{exit:?}");
        }
        assert!(has(TABLE, Exit::Configuration));
        let of_probe = [
            Exit::Unreachable,
            Exit::Timeout,
            Exit::Protocol,
            Exit::Alpn,
            Exit::UnknownIssuer,
            Exit::Name,
            Exit::Expired,
            Exit::NotYetValid,
            Exit::Revoked,
            Exit::BadCertificate,
            Exit::NotVerified,
            Exit::ClientCertificate,
        ];
        for exit in of_probe {
            assert!(has(PROBE_TABLE, exit), "{exit:?}");
        }
    }

    #[test]
    fn the_table_of_probe_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/probe.md");
        let documented = std::fs::read_to_string(path).unwrap();
        for line in PROBE_TABLE.lines().skip(1) {
            assert!(documented.contains(line.trim()), "docs/probe.md has no line {line:?}");
        }
    }
}
