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
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Makes a fleet and requests of toruses, node states and jobs. Immutable, safe to share.
 *
 * <p>Jobs that run are matched to boxes before the model of a torus is chosen, since where not all
 * anchors can be said, those in use must be.
 */
final class ClusterAssembly {

  private final Map<String, TorusModel> models;
  private final Fleet fleet;
  private final List<SliceRequest> requests;
  private final List<Problem> problems;
  private final List<SlurmLeftOut> leftOut;
  private final Map<String, boolean[]> idle;

  private ClusterAssembly(Builder b) {
    this.models = b.models;
    this.fleet = b.fleet();
    this.requests = List.copyOf(b.requests);
    this.problems = b.problems.list();
    this.leftOut = List.copyOf(b.leftOut);
    this.idle = b.idle();
  }

  static ClusterAssembly of(
      String topology,
      List<SlurmTorus> toruses,
      SlurmCluster.Settings settings,
      @Nullable List<SlurmNode> nodes,
      List<SlurmJob> jobs) {
    Builder builder = new Builder(topology, toruses, settings);
    if (nodes != null) {
      builder.states(nodes);
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
    for (TorusModel model : models.values()) {
      boolean[] free = idle.get(model.torus().name());
      for (int cell = 0; cell < free.length; cell++) {
        if (free[cell]) {
          names.add(model.torus().nodes().get(cell));
        }
      }
    }
    return HostList.of(names).sorted();
  }

  List<HostList> idleAnchors(int size) {
    return idleAnchors(size, Set.of());
  }

  /** The anchors of a size whose nodes are all idle, some nodes aside that are not any more. */
  List<HostList> idleAnchors(int size, Set<String> taken) {
    Set<HostList> found = new LinkedHashSet<>();
    for (TorusModel model : models.values()) {
      SlurmTorus torus = model.torus();
      if (model.kind() == SlurmModel.UNUSABLE) {
        continue;
      }
      boolean[] free = idle.get(torus.name()).clone();
      for (int cell = 0; cell < free.length; cell++) {
        free[cell] &= !taken.contains(torus.nodes().get(cell));
      }
      for (TorusPlacement placement : placements(torus, size)) {
        for (TorusBox box : AnchorFamily.anchors(torus, placement)) {
          if (AnchorFamily.isIdle(box, torus.dims(), free)) {
            found.add(HostList.of(names(torus, box)).sorted());
          }
        }
      }
    }
    return List.copyOf(found);
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

  private static List<String> names(SlurmTorus torus, TorusBox box) {
    List<String> names = new ArrayList<>();
    for (int cell : box.cells(torus.dims())) {
      names.add(torus.nodes().get(cell));
    }
    return names;
  }

  /** One segment of a running job. */
  private record Segment(SlurmTorus torus, TorusBox box) {}

  /** Collects what becomes of the input. Confined to one thread at a time. */
  private static final class Builder {
    private final String topology;
    private final List<SlurmTorus> toruses;
    private final SlurmCluster.Settings settings;
    private final Set<Shape> offered = new LinkedHashSet<>();
    private final Map<String, Use[]> uses = new LinkedHashMap<>();
    private final Map<String, boolean[]> taken = new HashMap<>(); // by jobs, left out or not
    private final Map<String, boolean[]> cordoned = new HashMap<>();
    private final Map<SlurmJob, List<Segment>> segments = new LinkedHashMap<>();
    private final List<SliceRequest> requests = new ArrayList<>();
    private final Map<String, TorusModel> models = new LinkedHashMap<>();
    private final Problems problems = new Problems();
    private final List<SlurmLeftOut> leftOut = new ArrayList<>();

    Builder(String topology, List<SlurmTorus> toruses, SlurmCluster.Settings settings) {
      this.topology = topology;
      this.toruses = toruses;
      this.settings = settings;
      for (SlurmTorus torus : toruses) {
        int cells = torus.nodes().size();
        Use[] use = new Use[cells];
        for (int cell = 0; cell < cells; cell++) {
          use[cell] = torus.nodes().get(cell).isEmpty() ? Use.FAILED : Use.FREE;
        }
        uses.put(torus.name(), use);
        taken.put(torus.name(), new boolean[cells]);
        cordoned.put(torus.name(), new boolean[cells]);
        torus.placements().forEach(p -> offered.add(p.dims()));
      }
    }

    // ---------------------------------------------------------------- nodes

    void states(List<SlurmNode> nodes) {
      Map<String, Use> worst = new HashMap<>();
      nodes.forEach(n -> worst.merge(n.name(), n.use(), (a, b) -> a.compareTo(b) >= 0 ? a : b));
      for (SlurmTorus torus : toruses) {
        List<String> missing = new ArrayList<>();
        Use[] use = uses.get(torus.name());
        for (int cell = 0; cell < use.length; cell++) {
          String name = torus.nodes().get(cell);
          if (!name.isEmpty()) {
            Use known = worst.get(name);
            use[cell] = known == null ? Use.FAILED : known;
            if (known == null) {
              missing.add(name);
            }
          }
        }
        if (!missing.isEmpty()) {
          problems.add(
              "torus/" + torus.name() + ".nodes",
              "expected the state of every node, but "
                  + HostList.of(missing).sorted()
                  + " are not listed; Slurm skips cells whose node it does not know: list all"
                  + " nodes, or drop these");
        }
      }
    }

    /** Nodes that are allocated though no job has them. */
    void unexplained() {
      for (SlurmTorus torus : toruses) {
        List<String> names = new ArrayList<>();
        Use[] use = uses.get(torus.name());
        for (int cell = 0; cell < use.length; cell++) {
          if (use[cell] == Use.BUSY && !taken.get(torus.name())[cell]) {
            cordoned.get(torus.name())[cell] = true;
            names.add(torus.nodes().get(cell));
          }
        }
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
      Map<SlurmTorus, Set<Integer>> cells = new LinkedHashMap<>();
      List<String> elsewhere = new ArrayList<>();
      boolean shared = false;
      for (String node : job.nodes().names()) {
        SlurmTorus torus = torusOf(node);
        if (torus == null) {
          elsewhere.add(node);
          continue;
        }
        int cell = torus.index(torus.cell(node).orElseThrow());
        cells.computeIfAbsent(torus, t -> new TreeSet<>()).add(cell);
        shared |= taken.get(torus.name())[cell];
      }
      String why;
      List<Segment> boxes = new ArrayList<>();
      if (cells.isEmpty()) {
        leftOut.add(new SlurmLeftOut("job " + job.id(), "runs on no torus of " + topology + "."));
        return;
      } else if (!elsewhere.isEmpty()) {
        why = "runs on " + HostList.of(elsewhere).sorted() + " too, which are on no torus";
      } else if (shared) {
        why = "shares nodes with another job";
      } else {
        why = cover(job, cells, boxes);
      }
      for (Map.Entry<SlurmTorus, Set<Integer>> entry : cells.entrySet()) {
        String torus = entry.getKey().name();
        for (int cell : entry.getValue()) {
          cordoned.get(torus)[cell] |= why != null && !taken.get(torus)[cell];
          taken.get(torus)[cell] = true;
        }
      }
      if (why == null) {
        segments.put(job, boxes);
      } else {
        leftOut.add(
            new SlurmLeftOut(
                "job " + job.id(), why + "; its nodes " + job.nodes().sorted() + " are cordoned."));
      }
    }

    private @Nullable SlurmTorus torusOf(String node) {
      for (SlurmTorus torus : toruses) {
        if (torus.index(node) != null) {
          return torus;
        }
      }
      return null;
    }

    /** Fills in the boxes of a job's segments, or says why its nodes are none. */
    private @Nullable String cover(
        SlurmJob job, Map<SlurmTorus, Set<Integer>> cells, List<Segment> boxes) {
      int size = segmentSize(job);
      if (size == 0) {
        return "has segments that do not divide its " + job.nodeCount() + " nodes";
      }
      for (Map.Entry<SlurmTorus, Set<Integer>> entry : cells.entrySet()) {
        List<TorusBox> found = SegmentCover.of(entry.getKey(), entry.getValue(), size);
        if (found == null) {
          return "has nodes of torus "
              + entry.getKey().name()
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
      if (!settings.partitions().isEmpty() && !settings.partitions().contains(job.partition())) {
        return "waits in partition " + job.partition() + ", which was not asked for.";
      }
      if (job.namesNodes()) {
        return "asks for nodes by name or excludes some, which a request cannot say.";
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

    Map<String, boolean[]> idle() {
      Map<String, boolean[]> idle = new LinkedHashMap<>();
      for (SlurmTorus torus : toruses) {
        Use[] use = uses.get(torus.name());
        boolean[] free = new boolean[use.length];
        for (int cell = 0; cell < free.length; cell++) {
          free[cell] =
              use[cell] == Use.FREE
                  && !taken.get(torus.name())[cell]
                  && !cordoned.get(torus.name())[cell];
        }
        idle.put(torus.name(), free);
      }
      return idle;
    }

    void model() {
      Map<String, boolean[]> idle = idle();
      Set<Long> wanted = new LinkedHashSet<>();
      for (SliceRequest request : requests) {
        wanted.add(request.shapes().isEmpty() ? request.chips() : request.shapes().get(0).chips());
      }
      for (SlurmTorus torus : toruses) {
        List<TorusBox> used = new ArrayList<>();
        segments
            .values()
            .forEach(
                list ->
                    list.stream().filter(s -> s.torus() == torus).forEach(s -> used.add(s.box())));
        TorusModel model =
            TorusModel.of(
                torus,
                offered,
                settings,
                new TorusModel.Present(used, List.copyOf(wanted), idle.get(torus.name())));
        models.put(torus.name(), model);
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
      for (TorusModel model : models.values()) {
        String pod = model.torus().name();
        fleet.pod(pod, model.topology(), Map.of("topology", topology));
        if (model.kind() == SlurmModel.UNUSABLE) {
          fleet.cordonPod(pod);
        }
        health(fleet, model);
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

    private void health(Fleet.Builder fleet, TorusModel model) {
      String pod = model.torus().name();
      Use[] use = uses.get(pod);
      Map<Part, Health> health = new LinkedHashMap<>();
      Set<Part> cordons = new LinkedHashSet<>();
      for (int cell = 0; cell < use.length; cell++) {
        Part host = new Part.Host(model.host(cell));
        switch (use[cell]) {
          case FAILED -> health.put(host, Health.FAILED);
          case DEGRADED -> {
            health.putIfAbsent(host, Health.DEGRADED);
            cordons.add(host);
          }
          case CORDONED -> cordons.add(host);
          default -> {
            if (cordoned.get(pod)[cell]) {
              cordons.add(host);
            }
          }
        }
      }
      health.forEach((part, value) -> fleet.health(pod, part, value));
      cordons.forEach(part -> fleet.cordon(pod, part));
    }

    private RunningSlice slice(SlurmJob job, SliceRequest request, int index, Segment segment) {
      TorusModel model = models.get(segment.torus().name());
      Footprint footprint = model.footprint(segment.box());
      if (footprint == null) {
        throw new IllegalStateException(
            "Expected a model of " + segment + " of " + job + "; report this");
      }
      Instant start = job.startedAt().orElse(null);
      return RunningSlice.builder(
              request, index, segment.torus().name(), segment.box().extents(), footprint)
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

    /** A cell that is the first left, and the boxes that might hold it. */
    private record Choice(List<TorusBox> boxes, int[] next) {}

    private boolean go() {
      List<Choice> stack = new ArrayList<>();
      stack.add(choice());
      while (!left.isEmpty()) {
        Choice choice = stack.get(stack.size() - 1);
        TorusBox taken = null;
        while (taken == null && choice.next()[0] < choice.boxes().size() && steps <= MAX_STEPS) {
          TorusBox box = choice.boxes().get(choice.next()[0]++);
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
      return new Choice(List.copyOf(around), new int[1]);
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
