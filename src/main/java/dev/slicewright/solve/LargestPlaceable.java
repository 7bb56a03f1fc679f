package dev.slicewright.solve;

import dev.slicewright.topology.Shape;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The largest slices that fit now, each on its own. Immutable, safe to share.
 *
 * <p>Larger is more chips; of shapes with as many chips the one whose longest extent is shortest,
 * then whose middle one is, so that 8x8x8 goes before 4x8x16.
 *
 * @param pods for each pod that matches, in the fleet's order, what fits there
 */
public record LargestPlaceable(List<InPod> pods) {

  /** Copies the list. */
  public LargestPlaceable {
    pods = List.copyOf(pods);
  }

  /**
   * What fits in one pod. Immutable, safe to share.
   *
   * @param pod the pod's id
   * @param shape the largest legal shape that fits, in the platform's order of extents; null if
   *     none does
   * @param chips its chips; 0 if none fits
   */
  public record InPod(String pod, @Nullable Shape shape, long chips) {
    /** Checks for null. */
    public InPod {
      Objects.requireNonNull(pod, "pod");
    }
  }

  /**
   * The pod with the largest: the first of them where several are alike.
   *
   * @return the pod and shape, or empty if nothing fits anywhere
   */
  public Optional<InPod> largest() {
    InPod best = null;
    Shape most = null;
    for (InPod pod : pods) {
      Shape shape = pod.shape();
      if (shape != null && (most == null || LargestRun.LARGEST_FIRST.compare(shape, most) < 0)) {
        best = pod;
        most = shape;
      }
    }
    return Optional.ofNullable(best);
  }
}
