package dev.slicewright.report;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.BranchTree;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.CountRow;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Staying;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.request.VictimRules;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.PartitionSpec;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Turns what {@link JsonTree} read into a {@link Snapshot}, collecting every problem. */
final class SnapshotReader {

  private final Problems problems;
  private final Map<String, TpuTopology> topologies = new HashMap<>();
  private final Map<String, SliceRequest> known = new HashMap<>();

  private SnapshotReader(Problems problems) {
    this.problems = problems;
  }

  /** Reads a document; the result is null only where problems were found. */
  static @Nullable Snapshot read(Object tree, Problems problems) {
    return new SnapshotReader(problems).document(tree);
  }

  private @Nullable Snapshot document(Object tree) {
    Fields in = Fields.of(tree, "", problems);
    String format = in.text("format");
    if (!format.equals(Snapshot.FORMAT) && problems.isEmpty()) {
      problems.add("format", Fields.expected("\"" + Snapshot.FORMAT + "\"", format));
    }
    long version = in.whole("version", 1, Long.MAX_VALUE);
    if (problems.isEmpty() && version != Snapshot.VERSION) {
      problems.add(
          "version",
          "expected "
              + Snapshot.VERSION
              + ", but was "
              + version
              + "; read it with a release of Slicewright that knows this version");
    }
    if (!problems.isEmpty()) {
      // Not ours, or of another version: what else stands in it means something else.
      return null;
    }
    Fields fleetIn = in.object("fleet");
    Fleet fleet = fleetIn == null ? Fleet.builder().build() : fleet(fleetIn);
    List<SliceRequest> requests = in.list("requests", this::request);
    Set<String> ids = new HashSet<>();
    for (SliceRequest request : requests) {
      if (!ids.add(request.id())) {
        problems.add("requests", "request id \"" + request.id() + "\" is used twice");
      }
      known.putIfAbsent(request.id(), request);
    }
    Fields rulesIn = in.object("rules");
    PlanningRules rules = rulesIn == null ? PlanningRules.NONE : rules(rulesIn);
    Fields costIn = in.object("cost");
    CostTerms cost = costIn == null ? CostTerms.DEFAULT : cost(costIn);
    Fields planIn = in.object("plan");
    Plan plan = planIn == null ? null : plan(planIn, rules);
    in.end();
    if (!problems.isEmpty() || fleet == null || rules == null || cost == null) {
      return null;
    }
    Snapshot snapshot = Snapshot.of(fleet, requests).withRules(rules).withCost(cost);
    return plan == null ? snapshot : snapshot.withPlan(plan);
  }

  // ---------------------------------------------------------------- fleet

  private @Nullable Fleet fleet(Fields in) {
    Fleet.Builder builder = Fleet.builder();
    builder.version(in.whole("version", Long.MIN_VALUE, Long.MAX_VALUE, 0));
    // Where each thing that the builder numbers stands in the document.
    Map<String, List<String>> places = new LinkedHashMap<>();
    for (String kind :
        List.of("pods", "health", "healing", "cordons", "podCordons", "running", "holds")) {
      places.put(kind, new ArrayList<>());
    }
    in.list("pods", (value, path) -> pod(value, path, builder, places));
    in.list("running", (value, path) -> running(value, path, builder, places));
    in.list("holds", (value, path) -> hold(value, path, builder, places));
    in.end();
    Problems own = new Problems();
    Fleet fleet = Fields.build("", own, builder::build);
    for (Problem problem : own.list()) {
      problems.add(placed(problem.path(), places), problem.message());
    }
    return fleet;
  }

  private static List<String> of(Map<String, List<String>> places, String kind) {
    return places.getOrDefault(kind, List.of());
  }

  private static String placed(String path, Map<String, List<String>> places) {
    int open = path.indexOf('[');
    int close = path.indexOf(']');
    if (open > 0 && close > open) {
      List<String> known = of(places, path.substring(0, open));
      int index = Integer.parseInt(path.substring(open + 1, close));
      if (index < known.size()) {
        // What the builder calls a part is the element itself in the document.
        String rest = path.substring(close + 1);
        return known.get(index) + (rest.startsWith(".part") ? rest.substring(5) : rest);
      }
    }
    return "fleet." + path;
  }

  private @Nullable Object pod(
      Object value, String path, Fleet.Builder builder, Map<String, List<String>> places) {
    Fields in = Fields.of(value, path, problems);
    String id = in.text("id");
    Object raw = in.raw("topology");
    TpuTopology t = null;
    if (raw == null) {
      problems.add(in.at("topology"), "is missing; expected a name such as v5p, or an object");
    } else {
      t = topology(raw, in.at("topology"));
    }
    Map<String, String> labels = in.labels("labels");
    if (t == null) {
      // The parts of a pod that could not be made cannot be checked.
      in.raw("failed");
      in.raw("degraded");
      in.raw("healing");
      in.raw("cordons");
      in.flag("cordoned", false);
      in.end();
      return null;
    }
    TpuTopology topology = t;
    builder.pod(id, topology, labels);
    of(places, "pods").add(path);
    topologies.putIfAbsent(id, topology);
    for (Health health : List.of(Health.FAILED, Health.DEGRADED)) {
      Set<Part> seen = new HashSet<>();
      in.list(
          Fields.word(health),
          (each, where) -> {
            Part part = part(each, where, topology);
            if (part != null) {
              if (!seen.add(part)) {
                problems.add(where, "this part is listed twice");
              }
              builder.health(id, part, health);
              of(places, "health").add(where);
            }
            return part;
          });
    }
    in.list(
        "healing",
        (each, where) -> {
          Instant[] from = new Instant[1];
          Part part = part(each, where, topology, from);
          if (part != null && from[0] != null) {
            builder.healing(id, part, from[0]);
            of(places, "healing").add(where);
          }
          return part;
        });
    in.list(
        "cordons",
        (each, where) -> {
          Part part = part(each, where, topology);
          if (part != null) {
            builder.cordon(id, part);
            of(places, "cordons").add(where);
          }
          return part;
        });
    if (in.flag("cordoned", false)) {
      builder.cordonPod(id);
      of(places, "podCordons").add(path);
    }
    in.end();
    return null;
  }

  private @Nullable Part part(Object value, String path, TpuTopology t) {
    return part(value, path, t, null);
  }

  /** With a place for the time from which it may be used, if there is to be one. */
  private @Nullable Part part(
      Object value, String path, TpuTopology t, @Nullable Instant @Nullable [] usableFrom) {
    Fields in = Fields.of(value, path, problems);
    if (usableFrom != null) {
      usableFrom[0] = in.instant("usableFrom", true);
    }
    Part part = null;
    if (in.has("host")) {
      HostId host = host(in.raw("host"), in.at("host"), t.hostNames());
      part = host == null ? null : new Part.Host(host);
    } else if (in.has("chip")) {
      Chip chip = chip(in, "chip");
      part = chip == null ? null : new Part.Chip(chip);
    } else if (in.has("link")) {
      Chip chip = chip(in, "link");
      Axis axis = in.word("axis", Axis.class);
      part = chip == null || axis == null ? null : new Part.Link(chip, axis);
    } else if (in.has("ocsPort")) {
      int index = in.small("ocsPort", 0, 15, 0);
      CubeId cube = in.has("cube") ? cube(in.raw("cube"), in.at("cube"), t) : null;
      String side = in.text("side");
      int axis = side.length() == 2 ? "xyz".indexOf(side.charAt(1)) : -1;
      if (axis < 0 || side.charAt(0) != '+' && side.charAt(0) != '-') {
        problems.add(in.at("side"), Fields.expected("one of +x, -x, +y, -y, +z, -z", side));
      } else if (cube == null) {
        problems.add(in.at("cube"), "an OCS port needs its cube");
      } else {
        part = new Part.OcsPort(cube, Axis.values()[axis], side.charAt(0) == '+', index);
      }
    } else if (in.has("cube")) {
      CubeId cube = cube(in.raw("cube"), in.at("cube"), t);
      part = cube == null ? null : new Part.Cube(cube);
    } else {
      problems.add(
          path, "expected a part: {host}, {chip}, {cube}, {link, axis} or {ocsPort, cube, side}");
      return null;
    }
    in.end();
    return part;
  }

  private @Nullable Chip chip(Fields in, String name) {
    Object value = in.raw(name);
    return value == null ? null : Fields.chip(value, in.at(name), problems);
  }

  private @Nullable HostId host(@Nullable Object value, String path, List<String> names) {
    int index = number(value, path, names, "host");
    return index < 0 ? null : new HostId(index);
  }

  private @Nullable CubeId cube(@Nullable Object value, String path, TpuTopology t) {
    List<String> names = t.cubeNames();
    if (names.isEmpty() && value instanceof String s && s.matches("c\\d{1,4}")) {
      return new CubeId(Integer.parseInt(s.substring(1)));
    }
    int index = number(value, path, names, "cube");
    return index < 0 ? null : new CubeId(index);
  }

  private final Map<List<String>, Map<String, Integer>> numbers = new java.util.IdentityHashMap<>();

  /** A number, or a name where the pod has names. */
  private int number(@Nullable Object value, String path, List<String> names, String what) {
    if (value instanceof String name && !names.isEmpty()) {
      Integer index =
          numbers
              .computeIfAbsent(
                  names,
                  list -> {
                    Map<String, Integer> byName = new HashMap<>();
                    for (int i = 0; i < list.size(); i++) {
                      byName.put(list.get(i), i);
                    }
                    return byName;
                  })
              .get(name);
      if (index == null) {
        problems.add(path, "this pod has no " + what + " \"" + Words.shorten(name, 60) + "\"");
        return -1;
      }
      return index;
    }
    if (value instanceof Long number && number >= 0 && number <= Integer.MAX_VALUE) {
      return number.intValue();
    }
    problems.add(
        path,
        Fields.expected(
            "the number" + (names.isEmpty() ? "" : " or name") + " of a " + what, value));
    return -1;
  }

  private @Nullable Footprint footprint(Fields in, @Nullable TpuTopology t, @Nullable Shape shape) {
    int kinds =
        (in.has("cubes") ? 1 : 0) + (in.has("partition") ? 1 : 0) + (in.has("origin") ? 1 : 0);
    Object partition = in.raw("partition");
    Shape extents = in.shape("extents", false);
    if (kinds != 1) {
      problems.add(
          in.path, "expected one of cubes, partition and origin, but " + kinds + " are given");
      return null;
    }
    if (in.has("origin")) {
      Chip origin = chip(in, "origin");
      Shape size = extents == null ? shape : extents;
      if (size == null) {
        if (!in.has("extents") && !in.has("shape") && in.has("expiry")) {
          problems.add(in.at("extents"), "is missing; expected a shape such as 4x4x8");
        }
        return null;
      }
      return origin == null ? null : new Footprint.Box(origin, size);
    }
    if (in.has("extents")) {
      problems.add(in.at("extents"), "only a box, with its origin, has extents; remove it");
    }
    if (partition != null) {
      if (partition instanceof String name) {
        Optional<PartitionId> id =
            t == null ? Optional.empty() : t.partitions().flatMap(f -> f.byName(name));
        if (id.isEmpty()) {
          problems.add(
              in.at("partition"),
              "the pod has no partition \"" + Words.shorten(Words.oneLine(name), 60) + "\"");
          return null;
        }
        return new Footprint.Partition(id.get());
      }
      int most =
          t == null ? Integer.MAX_VALUE : t.partitions().map(PartitionForest::size).orElse(0);
      long index = Fields.whole(partition, 0, Math.max(0, most - 1), in.at("partition"), problems);
      return new Footprint.Partition(new PartitionId((int) index));
    }
    List<CubeId> cubes =
        in.list(
            "cubes",
            (value, path) -> {
              if (t != null) {
                return cube(value, path, t);
              }
              return new CubeId(
                  (int) Fields.whole(value, 0, TpuTopology.MAX_CUBES - 1, path, problems));
            });
    return new Footprint.Cubes(cubes);
  }

  private @Nullable Object running(
      Object value, String path, Fleet.Builder builder, Map<String, List<String>> places) {
    Fields in = Fields.of(value, path, problems);
    Object raw = in.raw("request");
    SliceRequest request = null;
    if (raw == null) {
      problems.add(in.at("request"), "is missing; expected the request that the slices are of");
    } else {
      request = request(raw, in.at("request"));
    }
    if (request != null) {
      known.putIfAbsent(request.id(), request);
    }
    SliceRequest of = request;
    int[] next = {0};
    in.list(
        "slices",
        (each, where) -> {
          Fields slice = Fields.of(each, where, problems);
          RunningSlice read = slice(slice, of, next[0]++);
          slice.end();
          if (read != null) {
            builder.running(read);
            of(places, "running").add(where);
          }
          return read;
        });
    if (!in.has("slices")) {
      problems.add(in.at("slices"), "is missing; expected the list of slices that run");
    }
    in.end();
    return null;
  }

  private @Nullable RunningSlice slice(Fields in, @Nullable SliceRequest request, int place) {
    int index = in.small("index", 0, SliceRequest.MAX_SLICES, place);
    String pod = in.text("pod");
    TpuTopology t = topologies.get(pod);
    Shape shape = shape(in, request);
    Footprint footprint = footprint(in, t, shape);
    Twist twist = twist(in, t, shape);
    Instant startedAt = in.instant("startedAt", false);
    Instant checkpointAt = in.instant("checkpointAt", false);
    Duration restart = in.duration("restart");
    Instant endsAt = in.instant("endsAt", false);
    boolean leaving = in.flag("leaving", false);
    if (request == null || shape == null || footprint == null || twist == null) {
      return null;
    }
    return in.build(
        () ->
            RunningSlice.builder(request, index, pod, shape, footprint)
                .twist(twist)
                .startedAt(startedAt)
                .checkpointAt(checkpointAt)
                .restartTime(restart)
                .endsAt(endsAt)
                .leaving(leaving)
                .build());
  }

  /** The shape of a slice; where the request has just one, it need not be said again. */
  private @Nullable Shape shape(Fields in, @Nullable SliceRequest request) {
    if (!in.has("shape") && request != null && request.shapes().size() == 1) {
      return request.shapes().get(0);
    }
    return in.shape("shape", true);
  }

  private @Nullable Twist twist(Fields in, @Nullable TpuTopology t, @Nullable Shape shape) {
    Object value = in.raw("twist");
    if (value == null) {
      return Twist.NONE;
    }
    if (value.equals("default")) {
      if (t == null || shape == null) {
        return null;
      }
      Optional<Twist> twist = t.twist(shape);
      if (twist.isEmpty()) {
        problems.add(in.at("twist"), shape + " has no default twist; remove it");
      }
      return twist.orElse(null);
    }
    if (value instanceof List<?> list && list.size() == 3) {
      List<Chip> shifts = in.list("twist", (each, where) -> Fields.chip(each, where, problems));
      return shifts.size() < 3
          ? null
          : Fields.build(
              in.at("twist"),
              problems,
              () -> new Twist(shifts.get(0), shifts.get(1), shifts.get(2)));
    }
    problems.add(in.at("twist"), Fields.expected("\"default\" or three shifts", value));
    return null;
  }

  private @Nullable Object hold(
      Object value, String path, Fleet.Builder builder, Map<String, List<String>> places) {
    Fields in = Fields.of(value, path, problems);
    String id = in.text("id");
    String request = in.text("request");
    String pod = in.text("pod");
    Instant expiry = in.instant("expiry", true);
    Footprint footprint = footprint(in, topologies.get(pod), null);
    in.end();
    if (expiry != null && footprint != null) {
      Hold hold = in.build(() -> new Hold(id, pod, footprint, request, expiry));
      if (hold != null) {
        builder.hold(hold);
        of(places, "holds").add(path);
      }
    }
    return null;
  }

  // ---------------------------------------------------------------- topology

  private @Nullable TpuTopology topology(Object value, String path) {
    if (value instanceof String name) {
      Optional<AcceleratorType> type = AcceleratorType.byName(name);
      if (type.isPresent()) {
        return TpuTopology.builder(type.get()).build();
      }
      if (!name.matches("[0-9]+x[0-9x]*")) {
        List<String> names = AcceleratorType.known().stream().map(AcceleratorType::name).toList();
        problems.add(
            path,
            Fields.expected(
                "one of " + String.join(", ", names) + ", a torus such as 16x20x28, or an object",
                value));
        return null;
      }
      Shape dims = Fields.shape(name, path, problems);
      return dims == null ? null : Fields.build(path, problems, () -> torus(dims).build());
    }
    Fields in = Fields.of(value, path, problems);
    int before = problems.list().size();
    Object rawAccelerator = in.raw("accelerator");
    AcceleratorType accelerator =
        rawAccelerator == null ? null : accelerator(rawAccelerator, in.at("accelerator"));
    Shape dims = in.shape("dims", rawAccelerator == null);
    int cubes = in.small("cubes", 1, TpuTopology.MAX_CUBES, -1);
    Shape hostTile = in.shape("hostTile", false);
    Shape physical = in.shape("physicalHostTile", false);
    String wrap = in.text("wrap", "xyz");
    if (!wrap.equals("none") && (wrap.isEmpty() || !wrap.matches("x?y?z?"))) {
      problems.add(in.at("wrap"), Fields.expected("the axes that wrap, such as xy, or none", wrap));
    }
    List<String> hostNames = in.strings("hostNames");
    List<String> cubeNames = in.strings("cubeNames");
    boolean coordinatesKnown = in.flag("coordinatesKnown", true);
    Object rawSlicing = in.raw("slicing");
    Slicing slicing =
        rawSlicing == null ? null : slicing(rawSlicing, in.at("slicing"), accelerator, hostNames);
    in.end();
    if (problems.list().size() > before || accelerator == null && dims == null) {
      return null;
    }
    return in.build(
        () -> {
          TpuTopology.Builder b =
              accelerator != null
                  ? TpuTopology.builder(accelerator)
                  : torus(java.util.Objects.requireNonNull(dims));
          if (dims != null) {
            b.dims(
                dims.rank() == 2
                    ? new int[] {dims.x(), dims.y()}
                    : new int[] {dims.x(), dims.y(), dims.z()});
          }
          if (cubes > 0) {
            b.cubes(cubes);
          }
          if (hostTile != null) {
            b.hostTile(hostTile);
          }
          if (physical != null) {
            b.physicalHostTile(physical);
          }
          for (Axis axis : Axis.values()) {
            b.wrap(axis, wrap.contains(Fields.word(axis)));
          }
          if (slicing != null) {
            b.slicing(slicing);
          }
          b.hostNames(hostNames).cubeNames(cubeNames);
          return (coordinatesKnown ? b : b.coordinatesUnknown()).build();
        });
  }

  private static TpuTopology.Builder torus(Shape dims) {
    return dims.rank() == 2
        ? TpuTopology.torusBuilder(dims.x(), dims.y())
        : TpuTopology.torusBuilder(dims.x(), dims.y(), dims.z());
  }

  private @Nullable Slicing slicing(
      Object value, String path, @Nullable AcceleratorType accelerator, List<String> hostNames) {
    if (value.equals("boxes")) {
      return accelerator == null ? Slicing.TorusBoxes.anyBox() : accelerator.boxes();
    }
    if (value.equals("partitions")) {
      return Slicing.NestedPartitions.halving();
    }
    if (value instanceof String) {
      problems.add(path, Fields.expected("boxes, partitions or an object with a kind", value));
      return null;
    }
    Fields in = Fields.of(value, path, problems);
    String kind = in.text("kind");
    Slicing slicing = null;
    switch (kind) {
      case "boxes" -> {
        List<Shape> shapes =
            in.list("shapes", (each, where) -> Fields.shape(each, where, problems));
        slicing = new Slicing.TorusBoxes(shapes, in.flag("powersOfTwo", false));
      }
      case "partitions" -> slicing = new Slicing.NestedPartitions(specs(in, hostNames));
      case "cubes" -> {
        int most = in.small("maxCubes", 1, TpuTopology.MAX_CUBES, TpuTopology.MAX_CUBES);
        slicing =
            new Slicing.OpticalCubes(most, in.flag("boxesInCube", false), specs(in, hostNames));
      }
      default -> {
        problems.add(in.at("kind"), Fields.expected("one of boxes, partitions, cubes", kind));
        return null;
      }
    }
    in.end();
    return slicing;
  }

  private List<PartitionSpec> specs(Fields in, List<String> hostNames) {
    return in.list(
        "partitions",
        (value, path) -> {
          Fields spec = Fields.of(value, path, problems);
          String id = spec.text("id");
          Shape shape = spec.shape("shape", true);
          List<HostId> hosts = spec.list("hosts", (each, where) -> host(each, where, hostNames));
          if (hosts.isEmpty()) {
            problems.add(spec.at("hosts"), "expected one host or more");
          }
          spec.end();
          return shape == null || hosts.isEmpty() ? null : new PartitionSpec(id, shape, hosts);
        });
  }

  private @Nullable AcceleratorType accelerator(Object value, String path) {
    if (value instanceof String name) {
      Optional<AcceleratorType> type = AcceleratorType.byName(name);
      if (type.isEmpty()) {
        problems.add(
            path, Fields.expected("a published accelerator such as v5p, or an object", value));
      }
      return type.orElse(null);
    }
    Fields in = Fields.of(value, path, problems);
    int before = problems.list().size();
    String name = in.text("name");
    Shape podDims = in.shape("podDims", true);
    Shape hostTile = in.shape("hostTile", true);
    Shape physical = in.shape("physicalHostTile", false);
    int edge = in.small("cubeEdge", 0, 4, 0);
    int maxCubes = in.small("maxCubes", 0, TpuTopology.MAX_CUBES, 0);
    List<Shape> boxShapes =
        in.list("boxShapes", (each, where) -> Fields.shape(each, where, problems));
    boolean powersOfTwo = in.flag("powersOfTwo", false);
    int tensor = in.small("tensorCores", 1, 1 << 16, 1);
    int sparse = in.small("sparseCores", 0, 1 << 16, 0);
    String prefix = in.text("typePrefix", name.toLowerCase(Locale.ROOT));
    boolean countsCores = in.flag("typeCountsCores", false);
    String gke = in.text("gkeAccelerator", "");
    int hbm = in.small("hbmGib", 0, Integer.MAX_VALUE, 0);
    double tflops = in.number("bf16Tflops", 0);
    int links = in.small("iciLinksPerChip", 0, 64, 0);
    double linkRate = in.number("iciLinkBytesPerSecond", 0);
    double dcn = in.number("dcnGbitPerSecondPerChip", 0);
    record Machine(String name, int chips, int vcpus, int memory) {}
    List<Machine> machines =
        in.list(
            "machines",
            (each, where) -> {
              Fields m = Fields.of(each, where, problems);
              Machine machine =
                  new Machine(
                      m.text("name"),
                      (int) m.whole("chips", 1, 1 << 20),
                      m.small("vcpus", 0, 1 << 20, 0),
                      m.small("memoryGb", 0, 1 << 30, 0));
              m.end();
              return machine;
            });
    in.end();
    if (podDims == null || hostTile == null || problems.list().size() > before) {
      return null;
    }
    return in.build(
        () -> {
          AcceleratorType.Builder b =
              AcceleratorType.builder(name)
                  .podDims(podDims)
                  .hostTile(hostTile)
                  .cubeEdge(edge)
                  .maxCubes(maxCubes)
                  .boxShapes(boxShapes, powersOfTwo)
                  .coresPerChip(tensor, sparse)
                  .typeName(prefix, countsCores)
                  .gkeAccelerator(gke)
                  .hbmGib(hbm)
                  .bf16Tflops(tflops)
                  .iciLinksPerChip(links)
                  .iciLinkBytesPerSecond(linkRate)
                  .dcnGbitPerSecondPerChip(dcn);
          if (physical != null) {
            b.physicalHostTile(physical);
          }
          machines.forEach(m -> b.machine(m.name(), m.chips(), m.vcpus(), m.memory()));
          return b.build();
        });
  }

  // ---------------------------------------------------------------- requests, rules, cost

  private @Nullable SliceRequest request(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    int before = problems.list().size();
    SliceRequest.Builder b = SliceRequest.builder(in.text("id"));
    Shape shape = in.shape("shape", false);
    List<Shape> shapes = in.list("shapes", (each, where) -> Fields.shape(each, where, problems));
    if (in.has("shape") && in.has("shapes")) {
      problems.add(in.at("shapes"), "expected shape or shapes, not both");
    }
    if (shape != null) {
      b.shape(shape);
    }
    shapes.forEach(b::shape);
    if (in.has("chips")) {
      b.chips(in.whole("chips", 1, 1L << 40, 1));
    }
    b.slices(in.small("slices", 1, SliceRequest.MAX_SLICES, 1));
    b.priority(in.whole("priority", Long.MIN_VALUE, Long.MAX_VALUE, 0));
    b.tenant(in.text("tenant", ""));
    b.accelerators(in.strings("accelerators").toArray(new String[0]));
    b.mayTurn(in.flag("mayTurn", true));
    b.interconnect(in.word("interconnect", Interconnect.class, Interconnect.ANY));
    b.healthyOnly(in.flag("healthyOnly", false));
    in.labels("requireLabels").forEach(b::requireLabel);
    in.labelSets("forbidLabels")
        .forEach((key, values) -> values.forEach(v -> b.forbidLabel(key, v)));
    b.pod(in.text("pod", ""));
    b.gang(in.text("gang", ""));
    b.spread(spread(in));
    in.end();
    if (problems.list().size() > before) {
      return null;
    }
    return in.build(b::build);
  }

  private Spread spread(Fields in) {
    Object value = in.raw("spread");
    if (value == null || value.equals("any")) {
      return Spread.any();
    }
    if (value.equals("same-pod")) {
      return Spread.samePod();
    }
    if (value.equals("different-pods")) {
      return Spread.differentPods();
    }
    if (value instanceof Map) {
      Fields spread = Fields.of(value, in.at("spread"), problems);
      int most = (int) spread.whole("atMost", 1, Integer.MAX_VALUE);
      String label = spread.text("label", "");
      spread.end();
      return Spread.atMost(most, label);
    }
    problems.add(
        in.at("spread"),
        Fields.expected("any, same-pod, different-pods or {atMost, label}", value));
    return Spread.any();
  }

  private @Nullable PlanningRules rules(Fields in) {
    int before = problems.list().size();
    PlanningRules.Builder b = PlanningRules.builder();
    Instant now = in.instant("now", false);
    if (now != null) {
      b.now(now);
    }
    in.list(
        "quotas",
        (value, path) -> {
          Fields q = Fields.of(value, path, problems);
          b.quota(
              new PlanningRules.Quota(
                  q.text("tenant"),
                  q.text("accelerator", ""),
                  q.whole("chips", 0, Long.MAX_VALUE)));
          q.end();
          return null;
        });
    in.list(
        "reserved",
        (value, path) -> {
          Fields r = Fields.of(value, path, problems);
          b.reserve(
              new PlanningRules.Reserved(
                  r.text("tenant"), r.labels("podLabels"), r.whole("chips", 0, Long.MAX_VALUE)));
          r.end();
          return null;
        });
    Fields d = in.object("disruption");
    if (d != null) {
      b.disruption(
          new PlanningRules.DisruptionBudget(
              d.whole("slices", 0, Long.MAX_VALUE, Long.MAX_VALUE),
              d.whole("chipSeconds", 0, Long.MAX_VALUE, Long.MAX_VALUE),
              d.whole("tenants", 0, Long.MAX_VALUE, Long.MAX_VALUE)));
      d.end();
    }
    Object permit = in.raw("permit");
    if (permit != null) {
      Permission p = permission(permit, in.at("permit"));
      if (p != null) {
        b.permitByDefault(p);
      }
    }
    in.map("permissions", this::permission).forEach(b::permit);
    Fields victims = in.object("victims");
    if (victims != null) {
      VictimRules read = victims(victims);
      b.victims(read == null ? VictimRules.NONE : read);
    }
    in.list("drains", this::drain).forEach(b::drain);
    in.list("rooms", this::room).forEach(b::room);
    in.end();
    return problems.list().size() > before ? null : in.build(b::build);
  }

  private @Nullable VictimRules victims(Fields in) {
    VictimRules.Builder b = VictimRules.builder();
    if (in.has("belowPriority")) {
      b.belowPriority(in.whole("belowPriority", Long.MIN_VALUE, Long.MAX_VALUE, 0));
    }
    Duration coolDown = in.duration("coolDown");
    b.overQuotaOnly(in.flag("overQuotaOnly", false))
        .coolDown(coolDown == null ? Duration.ZERO : coolDown)
        .mostPerTenant(in.whole("mostPerTenant", 0, Long.MAX_VALUE, Long.MAX_VALUE))
        .protectRequests(in.strings("protectedRequests"))
        .protectTenants(in.strings("protectedTenants"));
    in.end();
    return in.build(b::build);
  }

  /** That a pod, host or cube exists is checked when a plan is made. */
  private @Nullable Drain drain(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    boolean hosts = in.has("hosts");
    boolean cubes = in.has("cubes");
    boolean label = in.has("label");
    if ((hosts ? 1 : 0) + (cubes ? 1 : 0) + (label ? 1 : 0) > 1 || label && in.has("pod")) {
      problems.add(path, "expected a pod, hosts or cubes of a pod, or a label, not several");
      return null;
    }
    Fields.Element<Integer> number =
        (each, where) -> (int) Fields.whole(each, 0, Integer.MAX_VALUE, where, problems);
    Instant by = in.instant("by", false);
    Drain drain;
    if (label) {
      drain = new Drain.OfLabel(in.text("label"), in.text("value"), by);
    } else if (hosts) {
      List<HostId> of = in.list("hosts", number).stream().map(HostId::new).toList();
      drain = Drain.hosts(in.text("pod"), of).by(by);
    } else if (cubes) {
      List<CubeId> of = in.list("cubes", number).stream().map(CubeId::new).toList();
      drain = Drain.cubes(in.text("pod"), of).by(by);
    } else {
      drain = new Drain.OfPod(in.text("pod"), by);
    }
    in.end();
    return drain;
  }

  private @Nullable RoomGoal room(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    Object raw = in.raw("like");
    if (raw == null) {
      problems.add(in.at("like"), "is missing; expected a request");
    }
    SliceRequest like = raw == null ? null : request(raw, in.at("like"));
    int times = in.small("times", 1, SliceRequest.MAX_SLICES, 1);
    long weight = in.whole("weight", 0, RoomGoal.MAX_WEIGHT, 0);
    in.end();
    return like == null ? null : in.build(() -> new RoomGoal(like, times, weight));
  }

  private @Nullable Permission permission(Object value, String path) {
    if (value instanceof Map) {
      Fields in = Fields.of(value, path, problems);
      Permission p =
          new Permission(
              in.flag("move", false), in.flag("evict", false), in.flag("withinPod", false));
      in.end();
      return p;
    }
    Permission found =
        value.equals("pinned")
            ? Permission.PINNED
            : value.equals("movable")
                ? Permission.MOVABLE
                : value.equals("evictable")
                    ? Permission.EVICTABLE
                    : value.equals("any") ? Permission.ANY : null;
    if (found == null) {
      problems.add(
          path,
          Fields.expected("pinned, movable, evictable, any or {move, evict, withinPod}", value));
    }
    return found;
  }

  private @Nullable CostTerms cost(Fields in) {
    CostTerms.Builder b = CostTerms.builder();
    b.shapeRank(in.flag("shapeRank", true)).newHosts(in.flag("newHosts", false));
    Fields.Element<Long> micros =
        (value, path) -> Fields.whole(value, 0, CostTerms.MAX_PRICE_MICROS, path, problems);
    in.map("acceleratorChipHourMicros", micros).forEach(b::pricePerChipHourMicros);
    in.map("podChipHourMicros", micros).forEach(b::podPricePerChipHourMicros);
    in.end();
    return in.build(b::build);
  }

  // ---------------------------------------------------------------- plan

  private @Nullable Plan plan(Fields in, @Nullable PlanningRules documentRules) {
    long version = in.whole("fleetVersion", Long.MIN_VALUE, Long.MAX_VALUE);
    Fields own = in.object("rules");
    PlanningRules rules = own == null ? documentRules : rules(own);
    topologies.putAll(in.map("topologies", this::topology));
    Plan.Builder b = Plan.builder(version, rules == null ? PlanningRules.NONE : rules);
    in.list("placements", this::placement).forEach(b::placement);
    in.list("moves", this::move).forEach(b::move);
    in.list("evictions", this::eviction).forEach(b::eviction);
    in.list("unplaced", this::unplaced).forEach(b::unplaced);
    in.list("broken", this::broken).forEach(b::broken);
    in.list("staying", this::staying).forEach(b::staying);
    in.list("room", this::placement).forEach(b::room);
    b.score(new Score(in.list("score", this::level)));
    StopReason stopped = in.word("stopped", StopReason.class);
    if (stopped != null) {
      b.stopped(stopped);
    }
    in.strings("engines").forEach(b::engine);
    in.strings("notes").forEach(b::note);
    in.list("phases", this::phase).forEach(b::phase);
    Duration time = in.duration("time");
    if (time != null) {
      b.time(time);
    }
    in.end();
    return problems.isEmpty() ? b.build() : null;
  }

  private @Nullable SliceRequest requestOrId(Fields in) {
    Object value = in.raw("request");
    if (value instanceof String id) {
      SliceRequest request = known.get(id);
      if (request == null) {
        problems.add(
            in.at("request"),
            "this document has no request \"" + Words.shorten(Words.oneLine(id), 60) + "\"");
      }
      return request;
    }
    if (value == null) {
      problems.add(in.at("request"), "is missing; expected a request or its id");
      return null;
    }
    return request(value, in.at("request"));
  }

  private @Nullable RequestPlacement placement(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    SliceRequest request = requestOrId(in);
    int rank = in.small("shapeRank", 0, Integer.MAX_VALUE, 0);
    int[] next = {0};
    List<Placement> slices =
        in.list(
            "slices",
            (each, where) -> {
              Fields slice = Fields.of(each, where, problems);
              Placement placed = placed(slice, request, next[0]++);
              return placed;
            });
    in.end();
    return request == null ? null : new RequestPlacement(request, slices, rank);
  }

  private @Nullable Placement placed(Fields in, @Nullable SliceRequest request, int place) {
    int index = in.small("index", 0, SliceRequest.MAX_SLICES, place);
    String pod = in.text("pod");
    TpuTopology t = topologies.get(pod);
    if (t == null) {
      problems.add(in.at("pod"), "there is no pod \"" + Words.shorten(pod, 60) + "\"");
    }
    Shape shape = shape(in, request);
    Footprint footprint = footprint(in, t, shape);
    Twist twist = twist(in, t, shape);
    in.end();
    if (t == null || request == null || shape == null || footprint == null || twist == null) {
      return null;
    }
    Optional<String> why = t.whyNot(shape, footprint);
    if (why.isPresent()) {
      problems.add(in.path, why.get());
      return null;
    }
    return in.build(
        () -> new Placement(new SliceId(request.id(), index), pod, t, shape, footprint, twist));
  }

  private @Nullable RunningSlice stray(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    SliceRequest request = requestOrId(in);
    RunningSlice slice = slice(in, request, 0);
    in.end();
    return slice;
  }

  private @Nullable Move move(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    Object from = in.raw("from");
    Fields to = in.object("to");
    if (from == null || to == null) {
      problems.add(path, "expected from and to");
      return null;
    }
    RunningSlice slice = stray(from, in.at("from"));
    Placement placement =
        placed(to, slice == null ? null : slice.request(), slice == null ? 0 : slice.id().index());
    in.end();
    return slice == null || placement == null ? null : new Move(slice, placement);
  }

  private @Nullable Eviction eviction(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    Eviction eviction = new Eviction(in.text("request"), in.list("slices", this::stray));
    in.end();
    return eviction;
  }

  private @Nullable BrokenSlice broken(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    Object raw = in.raw("slice");
    RunningSlice slice = raw == null ? null : stray(raw, in.at("slice"));
    if (raw == null) {
      problems.add(in.at("slice"), "is missing; expected a running slice");
    }
    Reason reason = in.word("reason", Reason.class);
    String sentence = in.text("sentence");
    in.end();
    return slice == null || reason == null ? null : new BrokenSlice(slice, reason, sentence);
  }

  private @Nullable Staying staying(Object value, String path) {
    BrokenSlice same = broken(value, path);
    return same == null ? null : new Staying(same.slice(), same.reason(), same.sentence());
  }

  private @Nullable Unplaced unplaced(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    String request = in.text("request");
    Reason reason = in.word("reason", Reason.class);
    boolean never = in.flag("never", false);
    String sentence = in.text("sentence");
    Fields e = in.object("evidence");
    if (e == null) {
      problems.add(in.at("evidence"), "is missing; expected an object");
      in.end();
      return null;
    }
    Unplaced.Evidence evidence =
        new Unplaced.Evidence(
            e.whole("wantedChips", 0, Long.MAX_VALUE),
            e.whole("freeChips", 0, Long.MAX_VALUE, 0),
            e.small("matchingPods", 0, Integer.MAX_VALUE, 0),
            e.shape("largestFit", false),
            e.list(
                "blockers",
                (each, where) -> {
                  Fields b = Fields.of(each, where, problems);
                  Unplaced.BlockingHost host =
                      new Unplaced.BlockingHost(
                          b.text("pod"), new HostId((int) b.whole("host", 0, Integer.MAX_VALUE)));
                  b.end();
                  return host;
                }),
            e.strings("holds"),
            e.list("nearestShapes", (each, where) -> Fields.shape(each, where, problems)),
            e.whole("limit", Long.MIN_VALUE, Long.MAX_VALUE, 0),
            e.whole("used", Long.MIN_VALUE, Long.MAX_VALUE, 0));
    e.end();
    in.end();
    return reason == null ? null : new Unplaced(request, reason, never, evidence, sentence);
  }

  private Score.@Nullable LevelScore level(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    Level.Kind kind = in.word("level", Level.Kind.class);
    long priority = in.whole("priority", Long.MIN_VALUE, Long.MAX_VALUE, 0);
    long v = in.whole("value", Long.MIN_VALUE, Long.MAX_VALUE);
    long bound = in.whole("bound", Long.MIN_VALUE, Long.MAX_VALUE);
    Long claimed =
        in.has("claimed") ? (Long) in.whole("claimed", Long.MIN_VALUE, Long.MAX_VALUE, 0) : null;
    Proof proof = new Proof.Trivial();
    Fields certificate = in.object("certificate");
    if (certificate != null) {
      Certificate read = certificate(certificate, this::prices);
      if (read != null) {
        proof = new Proof.Certified(read);
      }
    }
    Fields branches = in.object("branches");
    if (branches != null) {
      BranchTree read = branches(branches);
      if (read != null) {
        proof = new Proof.Branched(read);
      }
      if (certificate != null) {
        problems.add(in.at("branches"), "expected a certificate or branches, not both");
      }
    }
    if (in.has("agreement")) {
      List<String> names = in.strings("agreement");
      if (names.size() == 2 && certificate == null && branches == null) {
        proof = new Proof.Agreement(names.get(0), names.get(1));
      } else {
        problems.add(in.at("agreement"), "expected the names of two solves, and no certificate");
      }
    }
    if (in.flag("counted", false)) {
      if (proof instanceof Proof.Trivial) {
        proof = new Proof.Counted();
      } else {
        problems.add(in.at("counted"), "expected no other proof beside it");
      }
    }
    if (in.has("enumerated")) {
      long places = in.whole("enumerated", 0, Long.MAX_VALUE);
      if (proof instanceof Proof.Trivial) {
        proof = new Proof.Enumerated(places);
      } else {
        problems.add(in.at("enumerated"), "expected no other proof beside it");
      }
    }
    if (in.has("searched")) {
      long steps = in.whole("searched", 0, Proof.Searched.MOST);
      if (proof instanceof Proof.Trivial) {
        proof = new Proof.Searched(steps);
      } else {
        problems.add(in.at("searched"), "expected no other proof beside it");
      }
    }
    in.end();
    return kind == null
        ? null
        : new Score.LevelScore(new Level(kind, priority), v, bound, proof, claimed);
  }

  /** Each node before its sides; so the last come first together. */
  private @Nullable BranchTree branches(Fields in) {
    List<Certificate.CellPrices> cells = in.list("cells", this::prices);
    List<Node> nodes = in.list("nodes", (value, path) -> node(value, path, cells));
    in.end();
    if (in.raw("nodes") instanceof List<?> all && all.size() > nodes.size()) {
      return null; // of the others it has been said what is wrong
    }
    Deque<BranchTree> made = new ArrayDeque<>();
    for (int i = nodes.size() - 1; i >= 0; i--) {
      Node node = nodes.get(i);
      BranchTree.Leaf leaf = node.leaf();
      CountRow row = node.row();
      if (leaf != null) {
        made.push(leaf);
      } else if (row != null) {
        BranchTree below = made.poll();
        BranchTree above = made.poll();
        if (below == null || above == null) {
          problems.add(node.path(), "expected the nodes of both its sides to follow");
          return null;
        }
        BranchTree split =
            Fields.build(
                node.path(),
                problems,
                () -> new BranchTree.Split(row, node.atMost(), below, above));
        if (split == null) {
          return null;
        }
        made.push(split);
      }
    }
    if (made.size() != 1) {
      problems.add(
          in.at("nodes"), "expected the nodes of one tree, but was those of " + made.size());
      return null;
    }
    return made.pop();
  }

  /** A leaf, or a row with the count at which it splits. */
  private record Node(
      String path, BranchTree.@Nullable Leaf leaf, @Nullable CountRow row, long atMost) {}

  private @Nullable Node node(Object value, String path, List<Certificate.CellPrices> cells) {
    Fields in = Fields.of(value, path, problems);
    Fields count = in.object("count");
    if (count != null) {
      String pod = count.text("pod", "");
      Shape shape = count.shape("shape", false);
      long minChips = count.whole("minChips", Long.MIN_VALUE, Long.MAX_VALUE, 0);
      long maxChips = count.whole("maxChips", Long.MIN_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);
      long minPriority = count.whole("minPriority", Long.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE);
      long maxPriority = count.whole("maxPriority", Long.MIN_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);
      count.end();
      long atMost = in.whole("atMost", 0, Long.MAX_VALUE);
      in.end();
      CountRow row =
          count.build(() -> new CountRow(pod, shape, minChips, maxChips, minPriority, maxPriority));
      return row == null ? null : new Node(path, null, row, atMost);
    }
    Fields certificate = in.object("certificate");
    long[] prices = in.longs("prices", Long.MIN_VALUE);
    in.end();
    if (certificate == null) {
      problems.add(path, "expected a count to split at, or the certificate of a leaf");
      return null;
    }
    Certificate read =
        certificate(
            certificate,
            (number, where) -> {
              int i = (int) Fields.whole(number, 0, Integer.MAX_VALUE, where, problems);
              if (i >= cells.size()) {
                problems.add(where, "there are no prices number " + i + " in cells");
                return null;
              }
              return cells.get(i);
            });
    return read == null ? null : new Node(path, new BranchTree.Leaf(read, prices), null, 0);
  }

  private Certificate.CellPrices prices(Object value, String path) {
    Fields c = Fields.of(value, path, problems);
    Certificate.CellPrices prices =
        new Certificate.CellPrices(c.text("pod"), c.longs("prices", Long.MIN_VALUE));
    c.end();
    return prices;
  }

  private @Nullable Certificate certificate(
      Fields in, Fields.Element<Certificate.CellPrices> cell) {
    int level = (int) in.whole("level", 0, 1 << 16);
    long[] earlier = in.longs("earlier", Long.MIN_VALUE);
    List<Certificate.CellPrices> cells = in.list("cells", cell);
    List<Certificate.RowPrice> rows =
        in.list(
            "rows",
            (value, path) -> {
              Fields r = Fields.of(value, path, problems);
              Certificate.RowKind kind = r.word("kind", Certificate.RowKind.class);
              String pod = r.text("pod");
              int size = r.small("size", Integer.MIN_VALUE, Integer.MAX_VALUE, 0);
              boolean healthyOnly = r.flag("healthyOnly", false);
              long price = r.whole("price", Long.MIN_VALUE, Long.MAX_VALUE);
              r.end();
              return kind == null
                  ? null
                  : new Certificate.RowPrice(kind, pod, size, healthyOnly, price);
            });
    in.end();
    return in.build(() -> new Certificate(level, cells, rows, earlier));
  }

  private @Nullable Phase phase(Object value, String path) {
    Fields in = Fields.of(value, path, problems);
    String name = in.text("name");
    Duration time = in.duration("time");
    long size = in.whole("size", Long.MIN_VALUE, Long.MAX_VALUE, 0);
    in.end();
    return new Phase(name, time == null ? Duration.ZERO : time, size);
  }
}
