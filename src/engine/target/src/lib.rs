//! A running array: configuration, portals, exports, online management.
