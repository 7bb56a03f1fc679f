package dev.slicewright.topology;

/** An axis of a torus. Immutable, safe to share. */
public enum Axis {
  /** The first axis; chips are numbered along it fastest. */
  X,
  /** The second axis. */
  Y,
  /** The third axis; of extent 1 on a 2-D torus. */
  Z
}
