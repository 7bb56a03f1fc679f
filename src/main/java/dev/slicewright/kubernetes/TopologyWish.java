package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.topology.Shape;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What a pod set asks of the topology in Kueue's words: by annotations of its template, or by the
 * topology request of a Workload, which goes first.
 *
 * @param required all pods in one domain of this label
 * @param preferred the same if possible
 * @param unconstrained pods anywhere
 * @param sliceRequired each group of pods in one domain of this label
 * @param sliceSize pods of a group
 * @param layers groups within groups
 * @param group pod sets of one name share a domain
 */
record TopologyWish(
    Generic required,
    Generic preferred,
    Generic unconstrained,
    Generic sliceRequired,
    Generic sliceSize,
    Generic layers,
    Generic group) {

  private static final String LAYERS = TpuLabels.SLICE_REQUIRED_TOPOLOGY + "-constraints";
  private static final int MAX_DIGITS = 9;

  /** What the annotations of a template say. */
  static TopologyWish of(PodTemplate template) {
    return of(template, null);
  }

  /** What the topology request of a Workload's pod set says, else the annotations. */
  static TopologyWish of(PodTemplate template, @Nullable Generic request) {
    return new TopologyWish(
        field(template, TpuLabels.REQUIRED_TOPOLOGY, request, "required"),
        field(template, TpuLabels.PREFERRED_TOPOLOGY, request, "preferred"),
        field(template, TpuLabels.UNCONSTRAINED_TOPOLOGY, request, "unconstrained"),
        field(template, TpuLabels.SLICE_REQUIRED_TOPOLOGY, request, "podSetSliceRequiredTopology"),
        field(template, TpuLabels.SLICE_SIZE, request, "podSetSliceSize"),
        field(template, LAYERS, request, "podsetSliceRequiredTopologyConstraints"),
        field(template, TpuLabels.GROUP_NAME, request, "podSetGroupName"));
  }

  private static Generic field(
      PodTemplate template, String annotation, @Nullable Generic request, String field) {
    Generic asked = request == null ? null : request.get(field);
    return asked != null && asked.isPresent() ? asked : template.annotation(annotation);
  }

  /** The pods of a group; empty, with a problem, if that is no number of 1 or more. */
  OptionalLong size() {
    if (!sliceSize.isPresent()) {
      return OptionalLong.empty();
    }
    String digits = String.valueOf(sliceSize.raw());
    boolean sound =
        !digits.isEmpty()
            && digits.length() <= MAX_DIGITS
            && digits.chars().allMatch(c -> c >= '0' && c <= '9')
            && Integer.parseInt(digits) > 0;
    if (!sound) {
      sliceSize.problem("the pods of a group, 1 or more", "write a whole number");
      return OptionalLong.empty();
    }
    return OptionalLong.of(Integer.parseInt(digits));
  }

  /** The shape in the name of a label of partitions' ids; empty for other labels. */
  static Optional<Shape> shapeOf(String label) {
    for (String prefix : new String[] {TpuLabels.PARTITION_PREFIX, TpuLabels.SUBSLICE_PREFIX}) {
      int end = label.length() - TpuLabels.ID_SUFFIX.length();
      if (label.startsWith(prefix)
          && label.endsWith(TpuLabels.ID_SUFFIX)
          && end > prefix.length()) {
        try {
          return Optional.of(Shape.parse(label.substring(prefix.length(), end)));
        } catch (InvalidInputException e) {
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }
}
