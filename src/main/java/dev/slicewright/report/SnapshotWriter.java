package dev.slicewright.report;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.BranchTree;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.CountRow;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Staying;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
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
import dev.slicewright.topology.PartitionSpec;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Turns a {@link Snapshot} into the maps and lists that {@link JsonText} writes. */
final class SnapshotWriter {

  /** An object under construction: fields equal to their default are left out. */
  private static final class Obj extends LinkedHashMap<String, Object> {
    private static final long serialVersionUID = 1L;

    Obj with(String name, Object value) {
      put(name, value);
      return this;
    }

    Obj unless(Object normal, String name, Object value) {
      return value.equals(normal) ? this : with(name, value);
    }

    /** Leaves out empty text, lists and maps. */
    Obj some(String name, Object value) {
      boolean none =
          value.equals("")
              || value instanceof Collection<?> c && c.isEmpty()
              || value instanceof Map<?, ?> m && m.isEmpty();
      return none ? this : with(name, value);
    }
  }

  private final Snapshot snapshot;

  /** Requests that stand in the document already: those wanted, and those that run. */
  private final Map<String, SliceRequest> known = new LinkedHashMap<>();

  private SnapshotWriter(Snapshot snapshot) {
    this.snapshot = snapshot;
    for (RunningSlice slice : snapshot.fleet().running()) {
      known.putIfAbsent(slice.request().id(), slice.request());
    }
    for (SliceRequest request : snapshot.requests()) {
      known.putIfAbsent(request.id(), request);
    }
  }

  static Object tree(Snapshot snapshot) {
    return new SnapshotWriter(snapshot).document();
  }

  private Object document() {
    Obj out = new Obj().with("format", Snapshot.FORMAT).with("version", (long) Snapshot.VERSION);
    Fleet fleet = snapshot.fleet();
    if (!fleet.pods().isEmpty() || fleet.version() != 0) {
      out.with("fleet", fleet(fleet));
    }
    out.some("requests", list(snapshot.requests(), SnapshotWriter::request));
    if (!snapshot.rules().equals(PlanningRules.NONE)) {
      out.with("rules", rules(snapshot.rules()));
    }
    if (!snapshot.cost().equals(CostTerms.DEFAULT)) {
      out.with("cost", cost(snapshot.cost()));
    }
    snapshot.plan().ifPresent(plan -> out.with("plan", plan(plan)));
    return out;
  }

  private static <T> List<Object> list(Collection<T> values, Function<T, Object> each) {
    List<Object> out = new ArrayList<>(values.size());
    values.forEach(v -> out.add(each.apply(v)));
    return out;
  }

  // ---------------------------------------------------------------- fleet

  private static Object fleet(Fleet fleet) {
    Obj out = new Obj().unless(0L, "version", fleet.version());
    out.with("pods", list(fleet.pods(), SnapshotWriter::pod));
    // Slices of one request stand together: the order of ids sees to that.
    List<Object> running = new ArrayList<>();
    String last = "";
    List<Object> slices = new ArrayList<>();
    for (RunningSlice slice : fleet.running()) {
      if (!slice.request().id().equals(last)) {
        slices = new ArrayList<>();
        running.add(new Obj().with("request", request(slice.request())).with("slices", slices));
        last = slice.request().id();
      }
      slices.add(
          running(
              slice, slices.size(), fleet.pod(slice.pod()).orElseThrow().topology(), new Obj()));
    }
    return out.some("running", running)
        .some(
            "holds",
            list(fleet.holds(), h -> hold(h, fleet.pod(h.pod()).orElseThrow().topology())));
  }

  /** One forbidden value as a string, several as a list. */
  private static Map<String, Object> forbidden(SliceRequest r) {
    Map<String, Object> out = new java.util.TreeMap<>();
    r.forbiddenLabels()
        .forEach(
            (key, values) ->
                out.put(
                    key,
                    values.size() == 1
                        ? values.iterator().next()
                        : new java.util.ArrayList<Object>(values)));
    return out;
  }

  private static Object pod(Pod pod) {
    TpuTopology t = pod.topology();
    Obj out = new Obj().with("id", pod.id()).with("topology", topology(t));
    out.some("labels", pod.labels());
    for (Health health : List.of(Health.FAILED, Health.DEGRADED)) {
      List<Object> parts = new ArrayList<>();
      pod.reportedHealth()
          .forEach(
              (part, value) -> {
                if (value == health) {
                  parts.add(part(t, part));
                }
              });
      out.some(Fields.word(health), parts);
    }
    List<Object> healing = new ArrayList<>();
    pod.healing()
        .forEach((part, from) -> healing.add(part(t, part).with("usableFrom", from.toString())));
    out.some("healing", healing);
    out.some("cordons", list(pod.cordons(), part -> part(t, part)));
    return out.unless(false, "cordoned", pod.isCordoned());
  }

  private static Obj part(TpuTopology t, Part part) {
    if (part instanceof Part.Host host) {
      return new Obj().with("host", host(t, host.host()));
    }
    if (part instanceof Part.Chip chip) {
      return new Obj().with("chip", chip(chip.chip()));
    }
    if (part instanceof Part.Cube cube) {
      return new Obj().with("cube", cube(t, cube.cube()));
    }
    if (part instanceof Part.Link link) {
      return new Obj().with("link", chip(link.from())).with("axis", Fields.word(link.axis()));
    }
    Part.OcsPort port = (Part.OcsPort) part;
    return new Obj()
        .with("ocsPort", (long) port.index())
        .with("cube", cube(t, port.cube()))
        .with("side", (port.positive() ? "+" : "-") + Fields.word(port.axis()));
  }

  private static Object host(TpuTopology t, HostId host) {
    return t.hostNames().isEmpty() ? (Object) (long) host.index() : t.hostName(host);
  }

  private static Object cube(TpuTopology t, CubeId cube) {
    return t.cubeNames().isEmpty() ? (Object) (long) cube.index() : t.cubeName(cube);
  }

  private static List<Long> chip(Chip chip) {
    return List.of((long) chip.x(), (long) chip.y(), (long) chip.z());
  }

  private static Obj footprint(Obj out, TpuTopology t, @Nullable Shape shape, Footprint footprint) {
    if (footprint instanceof Footprint.Cubes cubes) {
      return out.with("cubes", list(cubes.cubes(), c -> cube(t, c)));
    }
    if (footprint instanceof Footprint.Partition partition) {
      // A number where the forest is not at hand, or two of its partitions have one name.
      PartitionForest forest = t.partitions().orElse(null);
      Object id = (long) partition.id().index();
      if (forest != null) {
        String name = forest.name(partition.id());
        id = forest.byName(name).filter(partition.id()::equals).isPresent() ? name : id;
      }
      return out.with("partition", id);
    }
    Footprint.Box box = (Footprint.Box) footprint;
    out.with("origin", chip(box.origin()));
    return shape != null && box.extents().equals(shape)
        ? out
        : out.with("extents", box.extents().toString());
  }

  private static Obj running(RunningSlice slice, int place, TpuTopology t, Obj out) {
    if (slice.id().index() != place) {
      out.with("index", (long) slice.id().index());
    }
    out.with("pod", slice.pod());
    shape(out, slice.request(), slice.shape());
    footprint(out, t, slice.shape(), slice.footprint());
    twist(out, t, slice.shape(), slice.twist());
    slice.startedAt().ifPresent(v -> out.with("startedAt", v.toString()));
    slice.checkpointAt().ifPresent(v -> out.with("checkpointAt", v.toString()));
    slice.restartTime().ifPresent(v -> out.with("restart", v.toString()));
    slice.endsAt().ifPresent(v -> out.with("endsAt", v.toString()));
    return out.unless(false, "leaving", slice.leaving());
  }

  /** Left out where the request leaves no choice. */
  private static void shape(Obj out, SliceRequest request, Shape shape) {
    if (!request.shapes().equals(List.of(shape))) {
      out.with("shape", shape.toString());
    }
  }

  private static void twist(Obj out, TpuTopology t, Shape shape, Twist twist) {
    if (twist.isNone()) {
      return;
    }
    if (t.twist(shape).equals(Optional.of(twist))) {
      out.with("twist", "default");
    } else {
      out.with("twist", List.of(chip(twist.onX()), chip(twist.onY()), chip(twist.onZ())));
    }
  }

  private static Object hold(Hold hold, TpuTopology t) {
    Obj out =
        new Obj()
            .with("id", hold.id())
            .with("request", hold.request())
            .with("expiry", hold.expiry().toString())
            .with("pod", hold.pod());
    return footprint(out, t, null, hold.footprint());
  }

  // ---------------------------------------------------------------- topology

  private static Object topology(TpuTopology t) {
    AcceleratorType a = t.accelerator();
    Optional<AcceleratorType> published = AcceleratorType.byName(a.name()).filter(a::equals);
    boolean torus =
        published.isEmpty()
            && a.equals(
                AcceleratorType.builder("torus").podDims(t.dims()).hostTile(t.hostTile()).build());
    Obj out = new Obj();
    TpuTopology.Builder base;
    Shape dims = t.dims();
    boolean row = t.isOptical() && dims.x() == 4 && dims.y() == 4 && dims.z() > 4;
    if (torus) {
      out.with("dims", dims.toString());
      base =
          dims.rank() == 2
              ? TpuTopology.torusBuilder(dims.x(), dims.y())
              : TpuTopology.torusBuilder(dims.x(), dims.y(), dims.z());
      if (!t.hostTile().equals(dims.rank() == 2 ? Shape.of(2, 2) : Shape.of(2, 2, 1))) {
        out.with("hostTile", t.hostTile().toString());
        base.hostTile(t.hostTile());
      }
      if (!t.physicalHostTile().equals(t.hostTile())) {
        out.with("physicalHostTile", t.physicalHostTile().toString());
      }
    } else {
      out.with("accelerator", published.isPresent() ? a.name() : accelerator(a));
      base = TpuTopology.builder(a);
      if (row) {
        out.with("cubes", (long) t.cubeCount());
      } else {
        out.unless(a.podDims().toString(), "dims", dims.toString());
      }
      out.unless(a.hostTile().toString(), "hostTile", t.hostTile().toString());
      out.unless(
          a.physicalHostTile().toString(), "physicalHostTile", t.physicalHostTile().toString());
    }
    StringBuilder wrap = new StringBuilder();
    for (Axis axis : Axis.values()) {
      wrap.append(t.wraps(axis) ? Fields.word(axis) : "");
    }
    if (!t.isOptical() && wrap.length() < dims.rank()) {
      out.with("wrap", wrap.length() == 0 ? "none" : wrap.toString());
    }
    Slicing normal =
        torus
            ? Slicing.TorusBoxes.anyBox()
            : a.cubeEdge() == 4
                ? Slicing.OpticalCubes.upTo(a.maxCubes())
                : a.boxes().shapes().isEmpty() ? a.boxes() : Slicing.NestedPartitions.halving();
    if (!t.slicing().equals(normal)) {
      out.with("slicing", slicing(t));
    }
    out.some("hostNames", t.hostNames()).some("cubeNames", t.cubeNames());
    out.unless(true, "coordinatesKnown", t.coordinatesKnown());
    return out.size() > 1 ? out : torus ? dims.toString() : published.isPresent() ? a.name() : out;
  }

  private static Object slicing(TpuTopology t) {
    if (t.slicing() instanceof Slicing.TorusBoxes boxes) {
      return boxes.equals(t.accelerator().boxes())
          ? "boxes"
          : new Obj()
              .with("kind", "boxes")
              .some("shapes", list(boxes.shapes(), Shape::toString))
              .unless(false, "powersOfTwo", boxes.powersOfTwo());
    }
    if (t.slicing() instanceof Slicing.NestedPartitions nested) {
      return nested.partitions().isEmpty()
          ? "partitions"
          : new Obj()
              .with("kind", "partitions")
              .with("partitions", list(nested.partitions(), p -> spec(t, p)));
    }
    Slicing.OpticalCubes cubes = (Slicing.OpticalCubes) t.slicing();
    return new Obj()
        .with("kind", "cubes")
        .with("maxCubes", (long) cubes.maxCubes())
        .unless(false, "boxesInCube", cubes.boxesInCube())
        .some("partitions", list(cubes.partitions(), p -> spec(t, p)));
  }

  private static Object spec(TpuTopology t, PartitionSpec spec) {
    return new Obj()
        .with("id", spec.id())
        .with("shape", spec.shape().toString())
        .with("hosts", list(spec.hosts(), h -> host(t, h)));
  }

  private static Object accelerator(AcceleratorType a) {
    Obj out =
        new Obj()
            .with("name", a.name())
            .with("podDims", a.podDims().toString())
            .with("hostTile", a.hostTile().toString())
            .unless(a.hostTile().toString(), "physicalHostTile", a.physicalHostTile().toString());
    if (a.cubeEdge() != 0 || a.maxCubes() != 0) {
      out.with("cubeEdge", (long) a.cubeEdge()).with("maxCubes", (long) a.maxCubes());
    }
    out.some("boxShapes", list(a.boxes().shapes(), Shape::toString))
        .unless(false, "powersOfTwo", a.boxes().powersOfTwo())
        .unless(1L, "tensorCores", (long) a.tensorCoresPerChip())
        .unless(0L, "sparseCores", (long) a.sparseCoresPerChip());
    String typeName = a.typeName(1);
    int dash = typeName.lastIndexOf('-');
    out.unless(a.name(), "typePrefix", typeName.substring(0, dash));
    out.unless(false, "typeCountsCores", !typeName.substring(dash).equals("-1"));
    a.gkeAccelerator().ifPresent(v -> out.with("gkeAccelerator", v));
    a.hbmGib().ifPresent(v -> out.with("hbmGib", (long) v));
    a.bf16Tflops().ifPresent(v -> out.with("bf16Tflops", v));
    out.unless(0L, "iciLinksPerChip", (long) a.iciLinksPerChip());
    a.iciLinkBytesPerSecond().ifPresent(v -> out.with("iciLinkBytesPerSecond", v));
    a.dcnGbitPerSecondPerChip().ifPresent(v -> out.with("dcnGbitPerSecondPerChip", v));
    return out.some(
        "machines",
        list(
            a.machineTypes(),
            m ->
                new Obj()
                    .with("name", m.name())
                    .with("chips", (long) m.chips())
                    .unless(0L, "vcpus", (long) m.vcpus())
                    .unless(0L, "memoryGb", (long) m.memoryGb())));
  }

  // ---------------------------------------------------------------- requests, rules, cost

  private static Object request(SliceRequest r) {
    Obj out = new Obj().with("id", r.id());
    if (r.chips() > 0) {
      out.with("chips", r.chips());
    } else if (r.shapes().size() == 1) {
      out.with("shape", r.shapes().get(0).toString());
    } else {
      out.with("shapes", list(r.shapes(), Shape::toString));
    }
    out.unless(1L, "slices", (long) r.slices())
        .unless(0L, "priority", r.priority())
        .some("tenant", r.tenant())
        .some("accelerators", r.accelerators())
        .unless(true, "mayTurn", r.mayTurn())
        .unless(Fields.word(Interconnect.ANY), "interconnect", Fields.word(r.interconnect()))
        .unless(false, "healthyOnly", r.healthyOnly())
        .some("requireLabels", r.requiredLabels())
        .some("forbidLabels", forbidden(r));
    r.pod().ifPresent(v -> out.with("pod", v));
    r.gang().ifPresent(v -> out.with("gang", v));
    Spread spread = r.spread();
    if (spread.kind() == Spread.Kind.AT_MOST) {
      out.with(
          "spread", new Obj().with("atMost", (long) spread.max()).some("label", spread.label()));
    } else {
      out.unless("any", "spread", Fields.word(spread.kind()));
    }
    return out;
  }

  private static Object rules(PlanningRules r) {
    Obj out = new Obj();
    if (!r.now().equals(Instant.EPOCH)) {
      out.with("now", r.now().toString());
    }
    out.some(
        "quotas",
        list(
            r.quotas(),
            q ->
                new Obj()
                    .with("tenant", q.tenant())
                    .some("accelerator", q.accelerator())
                    .with("chips", q.chips())));
    out.some(
        "reserved",
        list(
            r.reserved(),
            v ->
                new Obj()
                    .with("tenant", v.tenant())
                    .some("podLabels", v.podLabels())
                    .with("chips", v.chips())));
    PlanningRules.DisruptionBudget d = r.disruption();
    out.some(
        "disruption",
        new Obj()
            .unless(Long.MAX_VALUE, "slices", d.slices())
            .unless(Long.MAX_VALUE, "chipSeconds", d.chipSeconds())
            .unless(Long.MAX_VALUE, "tenants", d.tenants()));
    out.unless("pinned", "permit", permission(r.defaultPermission()));
    Obj permissions = new Obj();
    r.permissions().forEach((id, p) -> permissions.with(id, permission(p)));
    out.some("permissions", permissions);
    VictimRules v = r.victims();
    Obj victims = new Obj();
    Long below = v.belowPriority();
    if (below != null) {
      victims.with("belowPriority", below);
    }
    victims
        .unless(false, "overQuotaOnly", v.overQuotaOnly())
        .unless(Duration.ZERO.toString(), "coolDown", v.coolDown().toString())
        .unless(Long.MAX_VALUE, "mostPerTenant", v.mostPerTenant())
        .some("protectedRequests", List.copyOf(v.protectedRequests()))
        .some("protectedTenants", List.copyOf(v.protectedTenants()));
    out.some("victims", victims);
    out.some("drains", list(r.drains(), SnapshotWriter::drain));
    return out.some(
        "rooms",
        list(
            r.rooms(),
            g ->
                new Obj()
                    .with("like", request(g.like()))
                    .unless(1L, "times", (long) g.times())
                    .unless(0L, "weight", g.weight())));
  }

  private static Object drain(Drain d) {
    Obj out = new Obj();
    if (d instanceof Drain.OfLabel of) {
      out.with("label", of.key()).with("value", of.value());
    } else if (d instanceof Drain.OfHosts of) {
      out.with("pod", of.pod()).with("hosts", list(of.hosts(), h -> (long) h.index()));
    } else if (d instanceof Drain.OfCubes of) {
      out.with("pod", of.pod()).with("cubes", list(of.cubes(), c -> (long) c.index()));
    } else {
      out.with("pod", ((Drain.OfPod) d).pod());
    }
    d.by().ifPresent(by -> out.with("by", by.toString()));
    return out;
  }

  private static Object permission(Permission p) {
    if (p.equals(Permission.PINNED)) {
      return "pinned";
    }
    if (p.withinPod()) {
      return new Obj().with("move", p.move()).with("evict", p.evict()).with("withinPod", true);
    }
    return p.move() ? p.evict() ? "any" : "movable" : "evictable";
  }

  private static Object cost(CostTerms c) {
    return new Obj()
        .unless(true, "shapeRank", c.shapeRank())
        .unless(false, "newHosts", c.newHosts())
        .some("acceleratorChipHourMicros", c.pricesByAccelerator())
        .some("podChipHourMicros", c.pricesByPod());
  }

  // ---------------------------------------------------------------- plan

  private Object plan(Plan plan) {
    Obj out = new Obj().with("fleetVersion", plan.fleetVersion());
    if (!plan.rules().equals(snapshot.rules())) {
      out.with("rules", rules(plan.rules()));
    }
    // The topologies that the fleet of this document does not have.
    Map<String, TpuTopology> seen = new LinkedHashMap<>();
    plan.placements().forEach(p -> p.slices().forEach(s -> seen.put(s.pod(), s.topology())));
    plan.room().forEach(p -> p.slices().forEach(s -> seen.put(s.pod(), s.topology())));
    plan.moves().forEach(m -> seen.put(m.to().pod(), m.to().topology()));
    Obj topologies = new Obj();
    seen.forEach(
        (pod, t) -> {
          if (!snapshot.fleet().pod(pod).map(Pod::topology).equals(Optional.of(t))) {
            topologies.with(pod, topology(t));
          }
        });
    out.some("topologies", topologies);
    out.some("placements", list(plan.placements(), this::placement));
    out.some("moves", list(plan.moves(), this::move));
    out.some("evictions", list(plan.evictions(), this::eviction));
    out.some("unplaced", list(plan.unplaced(), SnapshotWriter::unplaced));
    out.some("broken", list(plan.broken(), this::broken));
    out.some("staying", list(plan.staying(), this::staying));
    out.some("room", list(plan.room(), this::placement));
    out.some("score", list(plan.score().levels(), SnapshotWriter::level));
    return out.with("stopped", Fields.word(plan.stopped()))
        .some("engines", plan.engines())
        .some("notes", plan.notes())
        .some("phases", list(plan.phases(), SnapshotWriter::phase))
        .with("time", plan.time().toString());
  }

  private Object requestOrId(SliceRequest request) {
    SliceRequest same = known.get(request.id());
    return same != null && same.equals(request) ? request.id() : request(request);
  }

  private Object placement(RequestPlacement p) {
    List<Object> slices = new ArrayList<>();
    for (Placement slice : p.slices()) {
      slices.add(placed(slice, p.request(), slices.size()));
    }
    return new Obj()
        .with("request", requestOrId(p.request()))
        .unless(0L, "shapeRank", (long) p.shapeRank())
        .with("slices", slices);
  }

  private static Obj placed(Placement p, SliceRequest request, int place) {
    Obj out = new Obj();
    if (p.id().index() != place) {
      out.with("index", (long) p.id().index());
    }
    out.with("pod", p.pod());
    shape(out, request, p.shape());
    footprint(out, p.topology(), p.shape(), p.footprint());
    twist(out, p.topology(), p.shape(), p.twist());
    return out;
  }

  /** A running slice in a plan: it need not be in the fleet of this document. */
  private Obj stray(RunningSlice slice) {
    Obj out = new Obj().with("request", requestOrId(slice.request()));
    out.with("index", (long) slice.id().index());
    // Where the document knows the pod, partitions have names; else numbers.
    Optional<TpuTopology> t = snapshot.fleet().pod(slice.pod()).map(Pod::topology);
    if (t.isPresent()) {
      return running(slice, slice.id().index(), t.get(), out);
    }
    return running(slice, slice.id().index(), NOWHERE, out);
  }

  /** A pod without names, for slices whose own pod is not at hand. */
  private static final TpuTopology NOWHERE = TpuTopology.torus(2, 2);

  private Object move(Move move) {
    return new Obj()
        .with("from", stray(move.from()))
        .with("to", placed(move.to(), move.from().request(), move.from().id().index()));
  }

  private Object eviction(Eviction eviction) {
    return new Obj()
        .with("request", eviction.request())
        .with("slices", list(eviction.slices(), this::stray));
  }

  private Object broken(BrokenSlice broken) {
    return new Obj()
        .with("slice", stray(broken.slice()))
        .with("reason", Fields.word(broken.reason()))
        .with("sentence", broken.sentence());
  }

  private Object staying(Staying staying) {
    return new Obj()
        .with("slice", stray(staying.slice()))
        .with("reason", Fields.word(staying.reason()))
        .with("sentence", staying.sentence());
  }

  private static Object unplaced(Unplaced u) {
    Unplaced.Evidence e = u.evidence();
    Obj evidence =
        new Obj()
            .with("wantedChips", e.wantedChips())
            .unless(0L, "freeChips", e.freeChips())
            .unless(0L, "matchingPods", (long) e.matchingPods())
            .some("largestFit", e.largest().map(Shape::toString).orElse(""))
            .some(
                "blockers",
                list(
                    e.blockers(),
                    b -> new Obj().with("pod", b.pod()).with("host", (long) b.host().index())))
            .some("holds", e.holds())
            .some("nearestShapes", list(e.nearestShapes(), Shape::toString))
            .unless(0L, "limit", e.limit())
            .unless(0L, "used", e.used());
    return new Obj()
        .with("request", u.request())
        .with("reason", Fields.word(u.reason()))
        .unless(false, "never", u.never())
        .with("sentence", u.sentence())
        .with("evidence", evidence);
  }

  private static Object level(Score.LevelScore l) {
    Obj out =
        new Obj()
            .with("level", Fields.word(l.level().kind()))
            .unless(0L, "priority", l.level().priority())
            .with("value", l.value())
            .with("bound", l.bound());
    l.claimedBound().ifPresent(v -> out.with("claimed", v));
    if (l.proof() instanceof Proof.Certified certified) {
      out.with("certificate", certificate(certified.certificate(), SnapshotWriter::prices));
    } else if (l.proof() instanceof Proof.Branched branched) {
      out.with("branches", branches(branched.tree()));
    } else if (l.proof() instanceof Proof.Agreement agreement) {
      out.with("agreement", List.of(agreement.first(), agreement.second()));
    } else if (l.proof() instanceof Proof.Counted) {
      out.with("counted", true);
    } else if (l.proof() instanceof Proof.Enumerated enumerated) {
      out.with("enumerated", enumerated.places());
    } else if (l.proof() instanceof Proof.Searched searched) {
      out.with("searched", searched.steps());
    }
    return out;
  }

  private static List<Long> longs(long[] values) {
    return Arrays.stream(values).boxed().toList();
  }

  /**
   * The nodes of a tree, each before its two sides and the lower side first: so no tree nests deep
   * in the document. Prices of cells that leaves share are written once.
   */
  private static Object branches(BranchTree tree) {
    Map<Certificate.CellPrices, Long> cells = new LinkedHashMap<>();
    List<Object> nodes = new ArrayList<>();
    Deque<BranchTree> left = new ArrayDeque<>(List.of(tree));
    while (!left.isEmpty()) {
      BranchTree node = left.pop();
      if (node instanceof BranchTree.Split split) {
        nodes.add(new Obj().with("count", count(split.row())).with("atMost", split.atMost()));
        left.push(split.above());
        left.push(split.below());
      } else if (node instanceof BranchTree.Leaf leaf) {
        nodes.add(
            new Obj()
                .with(
                    "certificate",
                    certificate(
                        leaf.certificate(),
                        c -> cells.computeIfAbsent(c, k -> (long) cells.size())))
                .some("prices", longs(leaf.branchPrices())));
      }
    }
    return new Obj()
        .some("cells", list(cells.keySet(), SnapshotWriter::prices))
        .with("nodes", nodes);
  }

  private static Object count(CountRow row) {
    Obj out = new Obj().some("pod", row.pod());
    if (row.shape() != null) {
      out.with("shape", row.shape().toString());
    }
    return out.unless(0L, "minChips", row.minChips())
        .unless(Long.MAX_VALUE, "maxChips", row.maxChips())
        .unless(Long.MIN_VALUE, "minPriority", row.minPriority())
        .unless(Long.MAX_VALUE, "maxPriority", row.maxPriority());
  }

  private static Object prices(Certificate.CellPrices p) {
    return new Obj().with("pod", p.pod()).with("prices", longs(p.byCell()));
  }

  private static Object certificate(Certificate c, Function<Certificate.CellPrices, Object> cells) {
    return new Obj()
        .with("level", (long) c.level())
        .some("earlier", longs(c.earlier()))
        .some("cells", list(c.cells(), cells))
        .some(
            "rows",
            list(
                c.rows(),
                r ->
                    new Obj()
                        .with("kind", Fields.word(r.kind()))
                        .with("pod", r.pod())
                        .unless(0L, "size", (long) r.size())
                        .unless(false, "healthyOnly", r.healthyOnly())
                        .with("price", r.price())));
  }

  private static Object phase(Phase p) {
    return new Obj()
        .with("name", p.name())
        .with("time", p.time().toString())
        .unless(0L, "size", p.size());
  }
}
