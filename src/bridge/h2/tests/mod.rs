mod draining;
mod passing;
mod properties;
mod real;
mod rig;
mod wire;
