//! Unix stream sockets: binding.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use socket2::{Domain, SockAddr, Socket, Type};

const BACKLOG: i32 = 1024;

/// A bound Unix socket, whose path is removed with it.
#[derive(Debug)]
pub struct BoundPath(PathBuf);

/// A Unix socket that listens at `path` with `mode`, and what removes the path when it is dropped. A socket at which
/// nobody listens any more is replaced; nothing else ever is.
///
/// # Errors
///
/// The path is taken by something else than a dead socket, or cannot be made.
pub fn bind_unix(path: &Path, mode: u32) -> io::Result<(UnixListener, BoundPath)> {
    remove_dead(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let bound = BoundPath(path.to_owned());
    // Before it listens: nobody gets in by the mode that the umask gave it.
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok((socket.into(), bound))
}

fn remove_dead(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "there is something at this path that is no socket"))
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
            Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody listens at this path")),
            Err(error) => Err(error),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

impl Drop for BoundPath {
    fn drop(&mut self) {
        // Gone already: somebody tidied up.
        let _ = fs::remove_file(&self.0);
    }
}
