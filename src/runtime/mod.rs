//! Workers, tasks, drain and signals. Imports nothing of the others.
