package dev.slicewright.request;

/** What a slice needs of its interconnect. Immutable, safe to share. */
public enum Interconnect {
  /** Whatever the shape gives: mesh, partly wrapping, or torus. */
  ANY,
  /** Every axis longer than one chip must wrap. */
  WRAPAROUND,
  /** A twisted torus; only shapes that can be twisted qualify. */
  TWISTED
}
