//! Who is connected now, on which generations each stands, and how to end it.
