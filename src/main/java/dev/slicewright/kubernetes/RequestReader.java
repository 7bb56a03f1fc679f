package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.kubernetes.PodSets.Ask;
import dev.slicewright.kubernetes.PodSets.PodSet;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Makes one request of the pod sets that fill slices together, and checks them against the
 * platform's rules first. Confined to one thread at a time.
 *
 * <p>The shape is the annotation {@code gke-tpu-slice-topology}, else the selector {@code
 * gke-tpu-topology}, else the shape in the label that Kueue's topology request names. On v5e and
 * v6e a selector larger than the annotation is the topology of the pool that the slice is cut from.
 * Source: GKE's and Kueue's documentation; the webhooks of the tpu-slice controller.
 */
final class RequestReader {

  /** What came out: the request's builder without name, priority and tenant, and the layout. */
  record Result(
      SliceRequest.Builder request,
      Workload.Layout layout,
      List<String> notes,
      SliceSelection selection) {}

  private static final int MAX_POOLS = 3;

  private final WorkContext context;
  private final WorkKind kind;
  private final Ask ask;
  private final Generic root;
  private final Problems mild; // named, yet the request is sound
  private final Problems found; // of this request: with one of these there is none
  private final int before; // problems of other requests of the object
  private final List<PodSet> workers; // with chips
  private final List<String> notes = new ArrayList<>();

  RequestReader(
      WorkContext context, WorkKind kind, Ask ask, Generic root, Problems mild, Problems found) {
    this.context = context;
    this.kind = kind;
    this.ask = ask;
    this.root = root;
    this.mild = mild;
    this.found = found;
    this.before = count();
    this.workers =
        ask.podSets().stream().filter(p -> p.chips().chips() > 0 || !p.chips().isSound()).toList();
  }

  private int count() {
    return found.isEmpty() ? 0 : found.list().size();
  }

  private boolean isSound() {
    return count() == before;
  }

  /**
   * Reads the request.
   *
   * @param id its id
   * @return the request, or empty with problems
   */
  Optional<Result> read(String id) {
    if (workers.isEmpty()) {
      return Optional.empty();
    }
    boolean counted = workers.stream().allMatch(p -> p.chips().isSound());
    long chips = workers.get(0).chips().chips();
    if (counted) {
      checkAlike();
    }
    List<NodeConditions> conditions = new ArrayList<>();
    for (PodSet worker : workers) {
      NodeConditions read = context.conditions(worker.template().spec());
      addAll(worker, read.problems());
      conditions.add(read);
    }
    List<AcceleratorType> named = namedAccelerators(conditions);
    Wanted wanted = wanted(agreed(conditions, TpuLabels.TOPOLOGY));
    if (named == null || wanted == null) {
      return Optional.empty();
    }
    List<AcceleratorType> types = named.isEmpty() ? context.accelerators() : named;
    WorkContext.Legality legality = context.legality(types, wanted.shape);
    Shape shape = legality.platform();
    if (shape == null) {
      wanted.field.problem(
          "expected a shape that "
              + names(types)
              + " can form, but was "
              + wanted.shape
              + ": "
              + legality.reason());
      return Optional.empty();
    }
    checkForm(wanted, shape);
    NodeConditions.Slot slot =
        new NodeConditions.Slot(
            names(legality.types(), new TreeSet<>()),
            shape,
            isPoolTopology(wanted, shape),
            chips,
            kind == WorkKind.LEADER_WORKER_SET);
    if (!counted) {
      return Optional.empty(); // as the fields of the chips have been told
    }
    checkHost(legality.types(), chips);
    checkSubslice(slot, conditions, wanted);
    if (kind == WorkKind.LEADER_WORKER_SET && shape.chips() > SlicePlaces.CUBE.chips()) {
      checkGroupOfCubes(slot, conditions.get(0), wanted);
    }
    if (!isSound()) {
      return Optional.empty();
    }
    PodCounts counts = new PodCounts(kind, ask, root, workers, this::isSound);
    Workload.Layout layout = counts.layout(wanted.field, shape, chips).orElse(null);
    if (layout == null) {
      return Optional.empty();
    }
    int slices = counts.groups() * layout.slicesPerGroup();
    counts.checkJobs(layout);
    SliceRequest.Builder request =
        place(id, slot, conditions).slices(slices).spread(spread(shape, slices, layout));
    if (!named.isEmpty()) {
      request.accelerators(slot.accelerators().toArray(new String[0]));
    }
    SliceSelection selection = selection(conditions);
    return isSound()
        ? Optional.of(new Result(request, layout, List.copyOf(notes), selection))
        : Optional.empty();
  }

  /** Hosts of one slice are alike. */
  private void checkAlike() {
    long chips = workers.get(0).chips().chips();
    for (PodSet other : workers) {
      if (other.chips().chips() != chips) {
        other
            .chips()
            .where()
            .problem(
                "expected "
                    + chips
                    + " chips, as the other pods of its slices have, but was "
                    + other.chips().chips()
                    + "; hosts of one slice are alike");
      }
    }
  }

  // ---------------------------------------------------------------- accelerator and shape

  /** The accelerators that a selector names; empty if none does; null with a problem. */
  private @Nullable List<AcceleratorType> namedAccelerators(List<NodeConditions> conditions) {
    String label = agreed(conditions, TpuLabels.ACCELERATOR);
    if (label == null) {
      return List.of();
    }
    List<AcceleratorType> types = context.accelerators(label);
    if (types.isEmpty()) {
      selectorField(TpuLabels.ACCELERATOR)
          .problem(
              "expected one of "
                  + String.join(", ", context.acceleratorLabels())
                  + ", but was \""
                  + label
                  + "\"; name the accelerator as its nodes do");
      return null;
    }
    return types;
  }

  /** The value that all workers select; null if they select none. */
  private @Nullable String agreed(List<NodeConditions> conditions, String key) {
    String value = null;
    for (int i = 0; i < conditions.size(); i++) {
      String other = conditions.get(i).equal().get(key);
      if (value != null && other != null && !value.equals(other)) {
        selectAlike(workers.get(i), key, value, other);
      }
      value = value == null ? other : value;
    }
    return value;
  }

  /** The Slices that all workers name; those that name none go where the others do. */
  private SliceSelection selection(List<NodeConditions> conditions) {
    SliceSelection selection = SliceSelection.NONE;
    for (int i = 0; i < conditions.size(); i++) {
      List<String> names = conditions.get(i).slices();
      if (selection.isEmpty() && !names.isEmpty()) {
        selection = new SliceSelection(selectorField(TpuLabels.SLICE).path(), names);
      } else if (!names.isEmpty() && !names.equals(selection.names())) {
        selectAlike(
            workers.get(i),
            TpuLabels.SLICE,
            String.join(", ", selection.names()),
            String.join(", ", names));
      }
    }
    return selection;
  }

  private Generic selectorField(String key) {
    for (PodSet worker : workers) {
      Generic field = worker.template().spec().get("nodeSelector", key);
      if (field.isPresent()) {
        return field;
      }
    }
    return workers.get(0).template().spec().get("affinity");
  }

  /** The label of Kueue's request that names a shape; absent if none does. */
  private @Nullable Generic level() {
    for (PodSet worker : workers) {
      for (Generic field : List.of(worker.wish().sliceRequired(), worker.wish().required())) {
        if (field.text().flatMap(TopologyWish::shapeOf).isPresent()) {
          return field;
        }
      }
    }
    return null;
  }

  /**
   * The shape asked for.
   *
   * @param field the field that it is read from
   * @param text as it is written there; empty where it is part of a label's name
   * @param selected the selected topology, be it the shape or a pool's; empty if none is
   */
  private record Wanted(Generic field, String text, Shape shape, String selected) {}

  private @Nullable Wanted wanted(@Nullable String selector) {
    String selected = selector == null ? "" : selector;
    Wanted wanted = null;
    for (PodSet worker : workers) {
      Generic field = worker.template().annotation(TpuLabels.SLICE_TOPOLOGY);
      String text = field.text().orElse("");
      Shape shape = text.isEmpty() ? null : parse(field, text);
      if (shape == null) {
        continue;
      }
      if (wanted == null) {
        wanted = new Wanted(field, text, shape, selected);
      } else if (!wanted.shape.sorted().equals(shape.sorted())) {
        field.problem(
            wanted.shape + ", as the other pods of its slices want", "one slice has one shape");
      }
    }
    if (wanted != null || isAnnotated()) {
      return wanted;
    }
    if (selector != null) {
      Generic field = selectorField(TpuLabels.TOPOLOGY);
      Shape shape = parse(field, selector);
      return shape == null ? null : new Wanted(field, selector, shape, selected);
    }
    Generic level = level();
    if (level != null) {
      return level
          .text()
          .flatMap(TopologyWish::shapeOf)
          .map(shape -> new Wanted(level, "", shape, selected))
          .orElse(null);
    }
    workers
        .get(0)
        .template()
        .annotation(TpuLabels.SLICE_TOPOLOGY)
        .problem(
            "a shape such as 2x2x4",
            "write the slice's shape here, or select "
                + TpuLabels.TOPOLOGY
                + " (pods with chips need either)");
    return null;
  }

  private boolean isAnnotated() {
    return workers.stream()
        .anyMatch(p -> p.template().annotation(TpuLabels.SLICE_TOPOLOGY).isPresent());
  }

  private static @Nullable Shape parse(Generic field, String text) {
    try {
      return Shape.parse(text);
    } catch (InvalidInputException e) {
      field.problem(e.problems().get(0).message() + "; write it as 2x2x4");
      return null;
    }
  }

  /** Other orders of extents, and capitals, are understood, but no node's label has them. */
  private void checkForm(Wanted wanted, Shape shape) {
    if (!wanted.text.isEmpty() && !wanted.text.equals(shape.toString())) {
      mild.add(
          wanted.field.path(),
          "expected "
              + shape
              + ", as the platform writes it, but was \""
              + wanted.text
              + "\"; write "
              + shape);
    }
  }

  /** Whether the selected topology is a pool's that the slice is cut from. */
  private boolean isPoolTopology(Wanted wanted, Shape shape) {
    Generic field = selectorField(TpuLabels.TOPOLOGY);
    Shape other = wanted.selected.isEmpty() ? null : parse(field, wanted.selected);
    if (other == null || other.sorted().equals(shape.sorted())) {
      return false;
    }
    if (other.rank() == 2 && contains(other, shape)) {
      return true;
    }
    field.problem(
        "expected "
            + shape
            + ", as "
            + TpuLabels.SLICE_TOPOLOGY
            + " says"
            + (other.rank() == 2 ? " (or the topology of a pool that it is cut from)" : "")
            + ", but was \""
            + wanted.selected
            + "\"; drop one of the two");
    return false;
  }

  // ---------------------------------------------------------------- hosts, pods, slices

  private void checkHost(List<AcceleratorType> types, long chips) {
    Set<Long> sizes = new TreeSet<>();
    types.forEach(type -> sizes.addAll(context.hostChips(type)));
    if (sizes.isEmpty()) {
      types.forEach(
          type -> type.machineTypes().forEach(machine -> sizes.add((long) machine.chips())));
    }
    if (!sizes.contains(chips)) {
      workers
          .get(0)
          .chips()
          .where()
          .problem(
              "expected all chips of a host of "
                  + names(types)
                  + " in the containers of a pod together ("
                  + String.join(" or ", sizes.stream().map(String::valueOf).toList())
                  + "), but they ask for "
                  + chips
                  + "; hosts are taken whole");
    }
  }

  /**
   * Groups of a LeaderWorkerSet above one cube cannot be formed on demand: what would be required
   * of all pods is the label of one cube.
   */
  private void checkGroupOfCubes(
      NodeConditions.Slot slot, NodeConditions conditions, Wanted wanted) {
    if (conditions.match(context.domains(), slot).possible().isEmpty()) {
      wanted.field.problem(
          "expected at most one cube (4x4x4), but was "
              + wanted.shape
              + ": the slice controller asks that all pods of a LeaderWorkerSet's group are in"
              + " one partition, and no partition is larger; use a JobSet for slices of several"
              + " cubes");
    }
  }

  /**
   * A sub-slice that is asked for by the selector alone: no node has its topology as that label,
   * since nodes have their pool's.
   */
  private void checkSubslice(
      NodeConditions.Slot slot, List<NodeConditions> conditions, Wanted wanted) {
    Shape shape = slot.shape();
    NodeConditions first = conditions.get(0);
    boolean selectedOnly = !wanted.selected.isEmpty() && wanted.text.equals(wanted.selected);
    if (shape.rank() != 2
        || !selectedOnly
        || isAnnotated()
        || !first.match(context.domains(), slot).possible().isEmpty()) {
      return;
    }
    Map<String, String> pools = new TreeMap<>(NaturalOrder.INSTANCE);
    for (Domain pool :
        first.without(TpuLabels.TOPOLOGY).match(context.domains(), slot).possible()) {
      String topology = pool.labels().get(TpuLabels.TOPOLOGY);
      if (pool.kind() == Domain.Kind.SUBSLICING
          && topology != null
          && pool.topology()
              .partitions()
              .filter(forest -> !forest.ofShape(shape).isEmpty())
              .isPresent()) {
        pools.put(pool.id(), topology);
      }
    }
    if (pools.isEmpty()) {
      return;
    }
    String one = pools.values().iterator().next();
    wanted.field.problem(
        "expected the topology of a pool, but was \""
            + wanted.text
            + "\", which no pool has; there are sub-slices of "
            + shape
            + " in "
            + String.join(
                ", ",
                pools.entrySet().stream()
                    .limit(MAX_POOLS)
                    .map(pool -> pool.getKey() + " (" + pool.getValue() + ")")
                    .toList())
            + (pools.size() > MAX_POOLS ? " and " + (pools.size() - MAX_POOLS) + " more" : "")
            + ": ask for one by the annotation "
            + TpuLabels.SLICE_TOPOLOGY
            + ": "
            + shape
            + ", and select "
            + TpuLabels.TOPOLOGY
            + ": "
            + one);
  }

  // ---------------------------------------------------------------- where

  private Spread spread(Shape shape, int slices, Workload.Layout layout) {
    boolean same = false;
    boolean different = false;
    for (PodSet worker : workers) {
      TopologyWish wish = worker.wish();
      note(wish.preferred(), "is a preference, and the plan decides");
      note(wish.unconstrained(), "asks for nothing");
      if (wish.required().isPresent()) {
        // What is required of a LeaderWorkerSet is required of each of its groups.
        int together = kind == WorkKind.LEADER_WORKER_SET ? layout.slicesPerGroup() : slices;
        same |= checkRequired(wish.required(), shape, together);
      }
      String exclusive = worker.exclusive().text().orElse("");
      if (exclusive.equals(TpuLabels.BLOCK)) {
        different = true;
      } else if (worker.exclusive().isPresent()
          && !exclusive.equals(TpuLabels.NODE_POOL)
          && !exclusive.equals(TpuLabels.SLICE)
          && !(exclusive.equals(TpuLabels.HOSTNAME) && layout.podsPerSlice() == 1)
          && !isLevelOf(exclusive, shape)) {
        worker
            .exclusive()
            .problem(
                TpuLabels.NODE_POOL + ", " + TpuLabels.SLICE + " or " + TpuLabels.BLOCK,
                "slices are placed by these alone");
      }
    }
    if (same && different) {
      workers
          .get(0)
          .exclusive()
          .problem(
              "expected no block for each job where "
                  + TpuLabels.REQUIRED_TOPOLOGY
                  + " wants one block for all; drop one of the two");
    }
    return same ? Spread.samePod() : different ? Spread.differentPods() : Spread.any();
  }

  /** Whether a label is that of the ids of partitions of a shape. */
  private static boolean isLevelOf(String label, Shape shape) {
    return TopologyWish.shapeOf(label).map(s -> s.sorted().equals(shape.sorted())).orElse(false);
  }

  private void note(Generic field, String what) {
    if (field.isPresent() && !Boolean.FALSE.equals(field.raw())) {
      notes.add(field.path() + " " + what + ".");
    }
  }

  /** Checks a level that all pods must share; whether it keeps several slices in one block. */
  private boolean checkRequired(Generic field, Shape shape, int slices) {
    String label = field.text().orElse("");
    if (label.equals(TpuLabels.BLOCK)) {
      return slices > 1;
    }
    Optional<Shape> named = TopologyWish.shapeOf(label);
    boolean withinCube = shape.rank() == 2 || shape.chips() <= SlicePlaces.CUBE.chips();
    boolean oneHost = slices == 1 && workers.stream().allMatch(p -> p.pods() == 1);
    boolean holds =
        slices == 1
            && (named.map(n -> contains(n, shape)).orElse(false)
                || withinCube
                    && (label.equals(TpuLabels.NODE_POOL) || label.equals(TpuLabels.SUBBLOCK))
                || oneHost && label.equals(TpuLabels.HOSTNAME));
    if (!holds) {
      field.problem(
          slices > 1
              ? "expected "
                  + TpuLabels.BLOCK
                  + " for "
                  + slices
                  + " slices, but was "
                  + field.shown()
                  + "; to keep each slice in a partition, use "
                  + TpuLabels.SLICE_REQUIRED_TOPOLOGY
              : "expected "
                  + TpuLabels.BLOCK
                  + " or the label of partitions that hold a "
                  + shape
                  + ", but was "
                  + field.shown()
                  + "; no such domain holds the slice");
    }
    return false;
  }

  private static boolean contains(Shape partition, Shape shape) {
    Shape outer = partition.sorted();
    Shape inner = shape.sorted();
    return outer.rank() == inner.rank()
        && inner.x() <= outer.x()
        && inner.y() <= outer.y()
        && inner.z() <= outer.z();
  }

  /** A request of the slot's shape with all that its workers ask of pods. */
  private SliceRequest.Builder place(
      String id, NodeConditions.Slot slot, List<NodeConditions> conditions) {
    SliceRequest.Builder request = null;
    Map<String, String> required = new TreeMap<>();
    Set<NodeConditions> seen = new HashSet<>();
    for (int i = 0; i < conditions.size(); i++) {
      if (!seen.add(conditions.get(i))) {
        continue;
      }
      NodeConditions.Match match = conditions.get(i).match(context.domains(), slot);
      addAll(workers.get(i), match.problems());
      SliceRequest base = match.base();
      for (Map.Entry<String, String> label : base.requiredLabels().entrySet()) {
        String other = required.putIfAbsent(label.getKey(), label.getValue());
        if (other != null && !other.equals(label.getValue())) {
          selectAlike(workers.get(i), label.getKey(), other, label.getValue());
        }
      }
      request = request == null ? base.toBuilder(id) : merged(request, base);
    }
    return request == null ? SliceRequest.builder(id).shape(slot.shape()) : request;
  }

  private static SliceRequest.Builder merged(SliceRequest.Builder request, SliceRequest other) {
    other.requiredLabels().forEach(request::requireLabel);
    other.forbiddenLabels().forEach(request::forbidLabels);
    return other.healthyOnly() ? request.healthyOnly(true) : request;
  }

  private static void selectAlike(PodSet worker, String key, String expected, String value) {
    worker
        .template()
        .spec()
        .get("nodeSelector", key)
        .problem(
            "expected \""
                + expected
                + "\", as the other pods of its slices select, but was \""
                + value
                + "\"; select alike");
  }

  private void addAll(PodSet worker, List<Problem> relative) {
    for (Problem problem : relative) {
      found.add(worker.template().spec().path() + problem.path(), problem.message());
    }
  }

  private static String names(List<AcceleratorType> types) {
    return String.join(" or ", names(types, new TreeSet<>()));
  }

  private static Set<String> names(List<AcceleratorType> types, Set<String> into) {
    types.forEach(type -> into.add(type.name()));
    return into;
  }
}
