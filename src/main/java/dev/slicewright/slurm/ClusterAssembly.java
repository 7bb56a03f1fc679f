package dev.slicewright.slurm;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.slurm.SlurmJob.Phase;
import dev.slicewright.slurm.SlurmNode.Use;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Makes a fleet and requests of toruses, node states and jobs. Immutable, safe to share.
 *
 * <p>Jobs that run are matched to boxes before the model of a torus is chosen, since where not all
 * anchors can be said, those in use must be.
 */
final class ClusterAssembly {

  private final List<TorusState> states;
  private final Map<String, TorusModel> models;
  private final Fleet fleet;
  private final List<SliceRequest> requests;
  private final List<Problem> problems;
  private final List<SlurmLeftOut> leftOut;

  private ClusterAssembly(Builder b) {
    this.states = List.copyOf(b.states);
    this.models = new LinkedHashMap<>();
    this.states.forEach(state -> models.put(state.torus.name(), state.model()));
    this.fleet = b.fleet();
    this.requests = List.copyOf(b.requests);
    this.problems = b.problems.list();
    this.leftOut = List.copyOf(b.leftOut);
  }

  static ClusterAssembly of(
      String topology,
      List<SlurmTorus> toruses,
      SlurmCluster.Settings settings,
      @Nullable List<SlurmNode> nodes,
      List<SlurmJob> jobs) {
    Builder builder = new Builder(topology, toruses, settings);
    if (nodes != null) {
      builder.nodes(nodes);
    }
    jobs.forEach(builder::running);
    builder.unexplained();
    jobs.stream()
        .sorted(Comparator.comparingLong((SlurmJob job) -> -job.priority()))
        .forEach(builder::waiting);
    builder.model();
    return new ClusterAssembly(builder);
  }

  Map<String, TorusModel> models() {
    return models;
  }

  Fleet fleet() {
    return fleet;
  }

  List<SliceRequest> requests() {
    return requests;
  }

  List<Problem> problems() {
    return problems;
  }

  List<SlurmLeftOut> leftOut() {
    return leftOut;
  }

  HostList idleNodes() {
    List<String> names = new ArrayList<>();
    for (TorusState state : states) {
      names.addAll(state.names(state.idle()));
    }
    return HostList.of(names).sorted();
  }

  /** The anchors of a size whose nodes are all idle. */
  List<HostList> idleAnchors(int size) {
    Set<HostList> found = new LinkedHashSet<>();
    for (TorusState state : states) {
      SlurmTorus torus = state.torus;
      idleBoxes(state, size, Set.of())
          .forEach(
              box -> {
                List<String> names = new ArrayList<>();
                for (int cell : box.cells(torus.dims())) {
                  names.add(torus.nodes().get(cell));
                }
                found.add(HostList.of(names).sorted());
              });
    }
    return List.copyOf(found);
  }

  /** Whether some anchor of a size is idle, some nodes aside that are not any more. */
  boolean hasIdleAnchor(int size, Set<String> taken) {
    return states.stream().anyMatch(s -> idleBoxes(s, size, taken).findAny().isPresent());
  }

  private static Stream<TorusBox> idleBoxes(TorusState state, int size, Set<String> taken) {
    SlurmTorus torus = state.torus;
    if (state.model().kind() == SlurmModel.UNUSABLE) {
      return Stream.of();
    }
    boolean[] idle = state.idle();
    CellCounts free =
        new CellCounts(
            torus.dims(), cell -> idle[cell] && !taken.contains(torus.nodes().get(cell)));
    return placements(torus, size).stream()
        .flatMap(placement -> AnchorFamily.anchors(torus, placement).stream())
        .filter(free::all);
  }

  /** The placements of a size; where none are listed, every box. */
  private static List<TorusPlacement> placements(SlurmTorus torus, int size) {
    if (!torus.placements().isEmpty()) {
      return torus.placements().stream().filter(p -> p.size() == size).toList();
    }
    List<TorusPlacement> boxes = new ArrayList<>();
    Shape dims = torus.dims();
    for (int x = 1; x <= Math.min(size, dims.x()); x++) {
      for (int y = 1; size % x == 0 && y <= Math.min(size / x, dims.y()); y++) {
        int z = size / x / y;
        if (x * y * z == size && z <= dims.z()) {
          boxes.add(TorusPlacement.anywhere(Shape.of(x, y, z)));
        }
      }
    }
    return boxes;
  }

  /** What is known of each cell of a torus. Confined to one thread at a time. */
  private static final class TorusState {
    final SlurmTorus torus;
    final Use[] uses;
    final boolean[] taken; // by a job, left out or not
    final boolean[] kept; // by a job that runs on
    final boolean[] cordoned; // for a job that is left out or not known
    private @Nullable TorusModel model;

    TorusState(SlurmTorus torus) {
      this.torus = torus;
      int cells = torus.nodes().size();
      this.uses = new Use[cells];
      for (int cell = 0; cell < cells; cell++) {
        uses[cell] = torus.nodes().get(cell).isEmpty() ? Use.FAILED : Use.FREE;
      }
      this.taken = new boolean[cells];
      this.kept = new boolean[cells];
      this.cordoned = new boolean[cells];
    }

    boolean[] idle() {
      boolean[] idle = new boolean[uses.length];
      for (int cell = 0; cell < idle.length; cell++) {
        idle[cell] = uses[cell] == Use.FREE && !taken[cell] && !cordoned[cell];
      }
      return idle;
    }

    List<String> names(boolean[] cells) {
      List<String> names = new ArrayList<>();
      for (int cell = 0; cell < cells.length; cell++) {
        if (cells[cell]) {
          names.add(torus.nodes().get(cell));
        }
      }
      return names;
    }

    TorusModel model() {
      return Objects.requireNonNull(model, "model");
    }
  }

  /** One segment of a running job. */
  private record Segment(TorusState state, TorusBox box) {}

  /** Collects what becomes of the input. Confined to one thread at a time. */
  private static final class Builder {
    private final String topology;
    private final SlurmCluster.Settings settings;
    private final Set<Shape> offered = new LinkedHashSet<>();
    private final List<TorusState> states = new ArrayList<>();
    private final Map<String, TorusState> stateOf = new HashMap<>(); // by node
    private final Map<SlurmJob, List<Segment>> segments = new LinkedHashMap<>();
    private final List<SliceRequest> requests = new ArrayList<>();
    private final Problems problems = new Problems();
    private final List<SlurmLeftOut> leftOut = new ArrayList<>();

    Builder(String topology, List<SlurmTorus> toruses, SlurmCluster.Settings settings) {
      this.topology = topology;
      this.settings = settings;
      for (SlurmTorus torus : toruses) {
        TorusState state = new TorusState(torus);
        states.add(state);
        torus.nodes().forEach(node -> stateOf.put(node, state));
        torus.placements().forEach(p -> offered.add(p.dims()));
      }
      stateOf.remove(""); // a cell without a node
    }

    // ---------------------------------------------------------------- nodes

    void nodes(List<SlurmNode> nodes) {
      Map<String, Use> worst = new HashMap<>();
      nodes.forEach(n -> worst.merge(n.name(), n.use(), (a, b) -> a.compareTo(b) >= 0 ? a : b));
      for (TorusState state : states) {
        boolean[] missing = new boolean[state.uses.length];
        for (int cell = 0; cell < missing.length; cell++) {
          String name = state.torus.nodes().get(cell);
          if (!name.isEmpty()) {
            missing[cell] = !worst.containsKey(name);
            state.uses[cell] = worst.getOrDefault(name, Use.FAILED);
          }
        }
        List<String> names = state.names(missing);
        if (!names.isEmpty()) {
          problems.add(
              "torus/" + state.torus.name() + ".nodes",
              "expected the state of every node, but "
                  + HostList.of(names).sorted()
                  + " are not listed; Slurm skips cells whose node it does not know: list all"
                  + " nodes, or drop these");
        }
      }
    }

    /** Nodes that are allocated though no job has them. */
    void unexplained() {
      for (TorusState state : states) {
        boolean[] busy = new boolean[state.uses.length];
        for (int cell = 0; cell < busy.length; cell++) {
          busy[cell] = state.uses[cell] == Use.BUSY && !state.taken[cell];
          state.cordoned[cell] |= busy[cell];
        }
        List<String> names = state.names(busy);
        if (!names.isEmpty()) {
          leftOut.add(
              new SlurmLeftOut(
                  "nodes " + HostList.of(names).sorted(),
                  "are allocated, but no job that is listed has them; they are cordoned."));
        }
      }
    }

    // ---------------------------------------------------------------- jobs that run

    void running(SlurmJob job) {
      if (job.phase() != Phase.RUNNING && job.phase() != Phase.COMPLETING) {
        return;
      }
      Map<TorusState, Set<Integer>> cells = new LinkedHashMap<>();
      List<String> elsewhere = new ArrayList<>();
      boolean shared = false;
      for (String node : job.nodes().names()) {
        TorusState state = stateOf.get(node);
        Integer cell = state == null ? null : state.torus.index(node);
        if (state == null || cell == null) {
          elsewhere.add(node);
        } else {
          cells.computeIfAbsent(state, t -> new TreeSet<>()).add(cell);
          shared |= state.taken[cell];
        }
      }
      if (cells.isEmpty()) {
        leftOut.add(new SlurmLeftOut("job " + job.id(), "runs on no torus of " + topology + "."));
        return;
      }
      List<Segment> boxes = new ArrayList<>();
      String why =
          !elsewhere.isEmpty()
              ? "runs on " + HostList.of(elsewhere).sorted() + " too, which are on no torus"
              : shared ? "shares nodes with another job" : cover(job, cells, boxes);
      cells.forEach(
          (state, taken) -> {
            for (int cell : taken) {
              state.cordoned[cell] |= why != null && !state.taken[cell];
              state.taken[cell] = true;
              state.kept[cell] |= job.phase() == Phase.RUNNING;
            }
          });
      if (why == null) {
        segments.put(job, boxes);
      } else {
        leftOut.add(
            new SlurmLeftOut(
                "job " + job.id(), why + "; its nodes " + job.nodes().sorted() + " are cordoned."));
      }
    }

    /** Fills in the boxes of a job's segments, or says why its nodes are none. */
    private @Nullable String cover(
        SlurmJob job, Map<TorusState, Set<Integer>> cells, List<Segment> boxes) {
      int size = segmentSize(job);
      if (size == 0) {
        return "has segments that do not divide its " + job.nodeCount() + " nodes";
      }
      for (Map.Entry<TorusState, Set<Integer>> entry : cells.entrySet()) {
        SlurmTorus torus = entry.getKey().torus;
        List<TorusBox> found = SegmentCover.of(torus, entry.getValue(), size);
        if (found == null) {
          return "has nodes of torus "
              + torus.name()
              + " that are no "
              + (size == job.nodeCount() ? "anchor" : "anchors of " + size + " nodes each");
        }
        found.forEach(box -> boxes.add(new Segment(entry.getKey(), box)));
      }
      Shape first = boxes.get(0).box().extents();
      return boxes.stream().allMatch(s -> s.box().extents().equals(first))
          ? null
          : "has segments of different extents, which a request cannot have";
    }

    /** Nodes of each segment, 0 if they do not divide the job's. A segment too large is ignored. */
    private static int segmentSize(SlurmJob job) {
      int segment = job.segment();
      if (segment == 0 || segment >= job.nodeCount()) {
        return job.nodeCount();
      }
      return job.nodeCount() % segment == 0 ? segment : 0;
    }

    // ---------------------------------------------------------------- jobs that wait

    /** Keeps the nodes of a job that is pinned to them and about to start, as a plan left it. */
    private boolean keepsNodes(SlurmJob job) {
      HostList nodes = job.requiredNodes();
      if (nodes.size() != job.nodeCount()
          || !nodes.names().stream().allMatch(node -> isFree(node))) {
        return false;
      }
      for (String node : nodes.names()) {
        TorusState state = Objects.requireNonNull(stateOf.get(node));
        state.cordoned[Objects.requireNonNull(state.torus.index(node))] = true;
      }
      return true;
    }

    private boolean isFree(String node) {
      TorusState state = stateOf.get(node);
      Integer cell = state == null ? null : state.torus.index(node);
      return state != null
          && cell != null
          && state.uses[cell].compareTo(Use.BUSY) <= 0
          && !state.kept[cell]
          && !state.cordoned[cell];
    }

    void waiting(SlurmJob job) {
      if (job.phase() != Phase.PENDING && job.phase() != Phase.NOT_ELIGIBLE) {
        return;
      }
      String why = whyNotPlanned(job);
      if (why == null) {
        requests.add(request(job, job.dims().orElse(null)));
      } else {
        leftOut.add(new SlurmLeftOut("job " + job.id(), why));
      }
    }

    private @Nullable String whyNotPlanned(SlurmJob job) {
      if (job.phase() == Phase.NOT_ELIGIBLE) {
        return "is held, or waits for another job or a time, not for nodes.";
      }
      if (!settings.partitions().isEmpty()
          && Arrays.stream(job.partition().split(",")).noneMatch(settings.partitions()::contains)) {
        return "waits in partition " + job.partition() + ", which was not asked for.";
      }
      if (job.isComponent()) {
        return "is a component of a heterogeneous job; they start together or not at all, which"
            + " requests cannot say.";
      }
      if (keepsNodes(job)) {
        return "is pinned to "
            + job.requiredNodes().sorted()
            + ", which no other job has; they are cordoned for it.";
      }
      if (job.namesNodes()) {
        return "asks for nodes by name, excludes some, or asks for a reservation, which a request"
            + " cannot say.";
      }
      if (job.id().contains("[")) {
        return "stands for several tasks of an array; print each with squeue -r.";
      }
      int size = segmentSize(job);
      if (size == 0) {
        return "asks for segments of "
            + job.segment()
            + " nodes, which do not divide its "
            + job.nodeCount()
            + "; Slurm never starts it.";
      }
      return job.nodeCount() / size > SliceRequest.MAX_SLICES
          ? "has more segments than a request may have, " + SliceRequest.MAX_SLICES + "."
          : null;
    }

    /** The placements of exactly the size of a segment, none of them turned. */
    private SliceRequest request(SlurmJob job, @Nullable Shape only) {
      int size = segmentSize(job);
      SliceRequest.Builder request =
          SliceRequest.builder(job.id())
              .slices(job.nodeCount() / size)
              .priority(job.priority())
              .tenant(job.account());
      List<Shape> shapes =
          only != null
              ? List.of(only)
              : offered.stream().filter(dims -> dims.chips() == size).toList();
      return shapes.isEmpty()
          ? request.chips(size).build()
          : request.shapes(shapes).mayTurn(false).build();
    }

    // ---------------------------------------------------------------- the fleet

    void model() {
      Set<Long> wanted = new LinkedHashSet<>();
      for (SliceRequest request : requests) {
        wanted.add(request.shapes().isEmpty() ? request.chips() : request.shapes().get(0).chips());
      }
      for (TorusState state : states) {
        SlurmTorus torus = state.torus;
        List<TorusBox> used =
            segments.values().stream()
                .flatMap(List::stream)
                .filter(segment -> segment.state() == state)
                .map(Segment::box)
                .toList();
        TorusModel model =
            TorusModel.of(torus, offered, settings, used, List.copyOf(wanted), state.idle());
        state.model = model;
        if (model.kind() == SlurmModel.UNUSABLE) {
          leftOut.add(
              new SlurmLeftOut(
                  "torus " + torus.name(),
                  torus.placements().isEmpty()
                      ? "lists no placements though others do, so Slurm places nothing on it; it is"
                          + " cordoned."
                      : "has no anchor with a node in every cell, so Slurm places nothing on it; it"
                          + " is cordoned."));
        }
      }
    }

    Fleet fleet() {
      Fleet.Builder fleet = Fleet.builder();
      for (TorusState state : states) {
        String pod = state.torus.name();
        fleet.pod(pod, state.model().topology(), Map.of("topology", topology));
        if (state.model().kind() == SlurmModel.UNUSABLE) {
          fleet.cordonPod(pod);
        }
        health(fleet, state);
      }
      segments.forEach(
          (job, boxes) -> {
            SliceRequest request = request(job, null);
            for (int i = 0; i < boxes.size(); i++) {
              fleet.running(slice(job, request, i, boxes.get(i)));
            }
          });
      return fleet.build();
    }

    /** A host is as bad as the worst of its nodes, and cordoned if one of them is. */
    private static void health(Fleet.Builder fleet, TorusState state) {
      Map<Part, Health> health = new LinkedHashMap<>();
      Set<Part> cordons = new LinkedHashSet<>();
      for (int cell = 0; cell < state.uses.length; cell++) {
        Part host = new Part.Host(state.model().host(cell));
        Use use = state.uses[cell];
        if (use == Use.FAILED) {
          health.put(host, Health.FAILED);
        } else if (use == Use.DEGRADED) {
          health.putIfAbsent(host, Health.DEGRADED);
        }
        if (use == Use.CORDONED || use == Use.DEGRADED || state.cordoned[cell]) {
          cordons.add(host);
        }
      }
      String pod = state.torus.name();
      health.forEach((part, value) -> fleet.health(pod, part, value));
      cordons.forEach(part -> fleet.cordon(pod, part));
    }

    private static RunningSlice slice(
        SlurmJob job, SliceRequest request, int index, Segment segment) {
      Footprint footprint = segment.state().model().footprint(segment.box());
      if (footprint == null) {
        throw new IllegalStateException(
            "Expected a model of " + segment.box() + " of " + job + "; report this");
      }
      Instant start = job.startedAt().orElse(null);
      return RunningSlice.builder(
              request, index, segment.state().torus.name(), segment.box().extents(), footprint)
          .startedAt(start)
          .endsAt(start == null ? null : job.timeLimit().map(start::plus).orElse(null))
          .leaving(job.phase() == Phase.COMPLETING)
          .build();
    }
  }

  /** Which boxes of one size the nodes of a job are. */
  private static final class SegmentCover {
    private static final int MAX_STEPS = 2_000_000;

    private final SlurmTorus torus;
    private final TreeSet<Integer> left;
    private final int size;
    private final List<TorusBox> boxes = new ArrayList<>();
    private int steps;

    private SegmentCover(SlurmTorus torus, Set<Integer> cells, int size) {
      this.torus = torus;
      this.left = new TreeSet<>(cells);
      this.size = size;
    }

    /**
     * Anchors that are exactly some cells together, the first found; null if there are none, or
     * none was found in two million steps. O(nodes) where there is one segment.
     */
    static @Nullable List<TorusBox> of(SlurmTorus torus, Set<Integer> cells, int size) {
      if (cells.size() == size) {
        TorusBox box = TorusBox.of(cells, torus.dims());
        return box != null && torus.allows(box) ? List.of(box) : null;
      }
      SegmentCover cover = new SegmentCover(torus, cells, size);
      return cells.size() % size == 0 && cover.go() ? cover.boxes : null;
    }

    /** The boxes that might hold the first cell left, those not tried yet. */
    private record Choice(Iterator<TorusBox> boxes) {}

    private boolean go() {
      List<Choice> stack = new ArrayList<>();
      stack.add(choice());
      while (!left.isEmpty()) {
        Choice choice = stack.get(stack.size() - 1);
        TorusBox taken = null;
        while (taken == null && choice.boxes().hasNext() && steps <= MAX_STEPS) {
          TorusBox box = choice.boxes().next();
          taken = take(box) ? box : null;
        }
        if (taken != null) {
          boxes.add(taken);
          if (!left.isEmpty()) {
            stack.add(choice());
          }
          continue;
        }
        stack.remove(stack.size() - 1);
        if (stack.isEmpty() || steps > MAX_STEPS) {
          return false;
        }
        for (int cell : boxes.remove(boxes.size() - 1).cells(torus.dims())) {
          left.add(cell);
        }
      }
      return true;
    }

    private Choice choice() {
      Set<TorusBox> around = new LinkedHashSet<>();
      for (TorusPlacement placement : placements(torus, size)) {
        around.addAll(around(left.first(), placement));
      }
      return new Choice(around.iterator());
    }

    /** The anchors of a placement that hold a cell. */
    private List<TorusBox> around(int cell, TorusPlacement placement) {
      Shape dims = torus.dims();
      Shape e = placement.dims();
      Chip at = torus.chip(cell);
      List<TorusBox> found = new ArrayList<>();
      for (int z = 0; z < e.z(); z++) {
        for (int y = 0; y < e.y(); y++) {
          for (int x = 0; x < e.x(); x++) {
            steps++;
            Chip origin =
                new Chip(
                    Math.floorMod(at.x() - x, dims.x()),
                    Math.floorMod(at.y() - y, dims.y()),
                    Math.floorMod(at.z() - z, dims.z()));
            if (placement.mayBeginAt(origin, dims)) {
              found.add(TorusBox.of(origin, e, dims));
            }
          }
        }
      }
      return found;
    }

    private boolean take(TorusBox box) {
      int[] cells = box.cells(torus.dims());
      for (int cell : cells) {
        steps++;
        if (!left.contains(cell)) {
          return false;
        }
      }
      for (int cell : cells) {
        left.remove(cell);
      }
      return true;
    }
  }
}
