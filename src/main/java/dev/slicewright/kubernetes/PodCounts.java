package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.PodSets.Ask;
import dev.slicewright.kubernetes.PodSets.PodSet;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;

/**
 * Whether the pods of an ask come out even: pods times chips are the shape times the slices, groups
 * are the pods of a partition, and the pods of a slice of several hosts start together. Confined to
 * one thread at a time.
 *
 * <p>The groups of Kueue's topology requests are partitions: for shapes of several cubes those of a
 * cube, for others those of the slice. Source: the webhooks of the tpu-slice controller.
 */
final class PodCounts {

  private static final int MAX_PODS = 1_000_000; // beyond any cluster

  private final WorkKind kind;
  private final Ask ask;
  private final Generic root;
  private final List<PodSet> workers;
  private final BooleanSupplier sound;

  /**
   * Makes one.
   *
   * @param kind of the object
   * @param ask what it asks for
   * @param root the fields of the object
   * @param workers the pod sets of the ask that have chips
   * @param sound whether the ask had no problem so far
   */
  PodCounts(WorkKind kind, Ask ask, Generic root, List<PodSet> workers, BooleanSupplier sound) {
    this.kind = kind;
    this.ask = ask;
    this.root = root;
    this.workers = workers;
    this.sound = sound;
  }

  /** How many groups of pods fill slices side by side. */
  int groups() {
    int groups = ask.podSets().get(0).groups();
    return ask.podSets().stream().allMatch(p -> p.groups() == groups) ? groups : 1;
  }

  /**
   * Counts the pods of a group against those of a slice.
   *
   * @param wanted the field that the shape is read from
   * @param shape the slice's shape
   * @param chips chips of each pod
   * @return the layout, or empty with problems
   */
  Optional<Workload.Layout> layout(Generic wanted, Shape shape, long chips) {
    PodSet first = workers.get(0);
    if (shape.chips() % chips != 0) {
      first
          .chips()
          .where()
          .problem(
              "expected pods whose chips make up the "
                  + shape.chips()
                  + " of "
                  + shape
                  + ", but a pod has "
                  + chips
                  + "; ask for a larger shape or other hosts");
      return Optional.empty();
    }
    long perSlice = shape.chips() / chips;
    int groups = groups();
    long perGroup = 0;
    List<Workload.Member> members = new ArrayList<>();
    for (PodSet podSet : ask.podSets()) {
      long pods =
          groups == podSet.groups() ? podSet.pods() : (long) podSet.groups() * podSet.pods();
      if (podSet.chips().chips() > 0) {
        perGroup += pods;
      }
      if (Math.max(pods, perGroup) > MAX_PODS / groups) {
        podSet.count().problem(MAX_PODS + " pods or fewer altogether", "split the work");
        return Optional.empty();
      }
      members.add(new Workload.Member(podSet.name(), (int) pods, (int) podSet.chips().chips()));
    }
    boolean grouped = checkGroupSize(shape, perSlice, perGroup * groups);
    boolean several =
        perGroup % perSlice == 0 && (grouped || perSlice == 1 || kind == WorkKind.WORKLOAD);
    if (perGroup != perSlice && !several) {
      if (sound.getAsBoolean()) {
        (kind == WorkKind.POD ? wanted : first.count())
            .problem(wrongCount(shape, chips, perSlice, perGroup));
      }
      return Optional.empty();
    }
    return Optional.of(new Workload.Layout(members, (int) (perGroup / perSlice), (int) perSlice));
  }

  private String wrongCount(Shape shape, long chips, long perSlice, long perGroup) {
    String unit = shape.chips() + " chips of " + shape + ", " + chips + " to a pod";
    if (kind == WorkKind.POD) {
      return "expected a shape of one host, but was "
          + shape
          + ", which has "
          + perSlice
          + " hosts; use a Job of "
          + perSlice
          + " pods";
    }
    boolean whole = perGroup > perSlice && perGroup % perSlice == 0;
    return "expected "
        + perSlice
        + (kind == WorkKind.WORKLOAD ? " pods or a multiple (" : " pods (")
        + unit
        + "), but there are "
        + perGroup
        + (whole && kind == WorkKind.JOB_SET
            ? "; write "
                + perGroup / perSlice
                + " times the replicas, of "
                + perSlice
                + " pods each"
            : whole
                ? "; to fill " + perGroup / perSlice + " slices, set " + TpuLabels.SLICE_SIZE
                : "; set it so, or choose the shape for " + perGroup * chips + " chips");
  }

  /** Checks Kueue's size of groups against the shape; whether there is one. */
  private boolean checkGroupSize(Shape shape, long perSlice, long pods) {
    boolean grouped = false;
    for (PodSet worker : workers) {
      TopologyWish wish = worker.wish();
      Generic size = wish.sliceSize();
      if (wish.layers().isPresent()) {
        wish.layers()
            .problem(
                "no groups within groups",
                "use " + TpuLabels.SLICE_REQUIRED_TOPOLOGY + " with the shape's own label");
      }
      if (wish.sliceRequired().isPresent() != size.isPresent()) {
        (size.isPresent() ? wish.sliceRequired() : size)
            .problem("both a level and a size of groups", "set both, or drop the other");
        continue;
      }
      OptionalLong given = wish.size();
      if (given.isEmpty()) {
        continue;
      }
      grouped = true;
      checkGroupSize(wish, given.getAsLong(), shape, perSlice, pods);
    }
    boolean subGroups = checkSubGroups(perSlice);
    return grouped || subGroups;
  }

  private void checkGroupSize(TopologyWish wish, long size, Shape shape, long perSlice, long pods) {
    if (pods % size != 0) {
      // kueue#15277: such work is charged, and its last pods are never placed.
      wish.sliceSize()
          .problem(
              "expected a size that divides the "
                  + pods
                  + " pods, but was "
                  + size
                  + ", which leaves "
                  + pods % size
                  + " in no whole group; pods and groups must come out even");
      return;
    }
    String label = wish.sliceRequired().text().orElse("");
    Optional<Shape> named = TopologyWish.shapeOf(label);
    long cubes = shape.rank() == 3 ? Math.max(1, shape.chips() / SlicePlaces.CUBE.chips()) : 1;
    if (named.isPresent()) {
      checkLevel(wish.sliceRequired(), shape, named.get());
      long expected = perSlice / cubes;
      if (size != expected) {
        wish.sliceSize()
            .problem(
                "expected "
                    + expected
                    + " (the pods of a "
                    + (cubes > 1 ? "cube" : shape)
                    + "), but was "
                    + size
                    + "; groups are the pods of one partition");
      }
    } else if (perSlice % size != 0) {
      wish.sliceSize()
          .problem(
              "expected a part of the "
                  + perSlice
                  + " pods of a slice, but was "
                  + size
                  + "; whether several slices share a "
                  + label
                  + " cannot be asked for");
    } else if (!label.equals(TpuLabels.BLOCK)
        && !(label.equals(TpuLabels.NODE_POOL) && cubes == 1)
        && !(label.equals(TpuLabels.HOSTNAME) && size == 1)) {
      wish.sliceRequired().problem(levels(), "name the level of the shape's partitions");
    }
  }

  private static String levels() {
    return TpuLabels.BLOCK
        + " or the label of partitions of the shape (of 4x4x4 for several cubes)";
  }

  /** A label of partitions must be the shape's own, or that of cubes for shapes of several. */
  private void checkLevel(Generic field, Shape shape, Shape named) {
    Shape expected =
        shape.rank() == 3 && shape.chips() > SlicePlaces.CUBE.chips() ? SlicePlaces.CUBE : shape;
    if (!named.sorted().equals(expected.sorted())) {
      field.problem(
          "expected the label of partitions of "
              + expected
              + ", as the shape "
              + shape
              + " is made of, but was "
              + field.shown()
              + "; make the two agree");
    }
  }

  /** Checks the subgroups of a LeaderWorkerSet; whether there are any. */
  private boolean checkSubGroups(long perSlice) {
    if (kind != WorkKind.LEADER_WORKER_SET) {
      return false;
    }
    Generic size = root.get("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize");
    OptionalLong given = size.whole();
    if (given.isPresent() && given.getAsLong() != perSlice) {
      size.problem(perSlice + ", the pods of a slice", "make a subgroup a slice");
    }
    return given.isPresent();
  }

  /** Pods of a slice of several hosts start together and know their number. */
  void checkJobs(Workload.Layout layout) {
    for (PodSet worker : workers) {
      Generic job = worker.job();
      if (job == null || layout.podsPerSlice() == 1) {
        continue;
      }
      Generic completions = job.get("completions");
      OptionalLong given = completions.whole();
      if (given.isEmpty() || given.getAsLong() != worker.pods()) {
        completions.problem(
            worker.pods() + " (as parallelism)",
            "the pods of a slice of several hosts run together: set both alike");
      }
      Generic mode = job.get("completionMode");
      // JobSet's webhook makes its jobs Indexed where they say nothing.
      boolean indexed =
          mode.isPresent()
              ? mode.text().filter("Indexed"::equals).isPresent()
              : kind == WorkKind.JOB_SET;
      if (!indexed) {
        mode.problem("Indexed", "the pods of a slice of several hosts need their numbers");
      }
    }
  }
}
