package dev.slicewright.search;

import dev.slicewright.fleet.Pod;
import dev.slicewright.topology.Footprint;
import java.time.Instant;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Torus boxes. */
final class TorusSpace extends PodSpace {
  TorusSpace(Pod pod, Instant now) {
    super(pod, now);
  }

  @Override
  public int register(Want want) {
    return -1;
  }

  @Override
  public @Nullable Spot find(int want, @Nullable SplittableRandom random) {
    return null;
  }

  @Override
  public boolean fits(int want) {
    return false;
  }

  @Override
  public void forEachCandidate(int want, java.util.function.Consumer<Footprint> action) {}

  @Override
  public void take(Spot spot) {}

  @Override
  public void giveBack(Spot spot) {}

  @Override
  public void setTaken(Footprint footprint, boolean taken) {}

  @Override
  public Predicate<Spot> window(SplittableRandom random) {
    return s -> false;
  }

  @Override
  public int freeCells() {
    return 0;
  }
}
