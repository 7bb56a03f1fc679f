package dev.slicewright.simulate;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.List;

/** A fleet under one policy. Confined to one thread at a time. */
abstract class Site {

  long moves;
  long movedChipSeconds;
  long repairs;

  /** Places what it can, in this order; returns the ids placed. */
  abstract List<String> place(List<SliceRequest> requests, Instant now);

  /** A request ends. */
  abstract void leave(String request);

  /** A part changes; returns the requests that ended for it. */
  abstract List<String> change(Change change, Instant now);

  /** Chips that slices could use now, if none ran. */
  abstract long usableChips();

  /** Whether a shape has a place now. */
  abstract boolean fits(Shape shape);
}
