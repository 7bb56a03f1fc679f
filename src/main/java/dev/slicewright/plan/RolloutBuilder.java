package dev.slicewright.plan;

import dev.slicewright.SliceId;
import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Step.Kind;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jgrapht.Graph;
import org.jgrapht.alg.connectivity.KosarajuStrongConnectivityInspector;
import org.jgrapht.graph.AsSubgraph;
import org.jgrapht.graph.DefaultDirectedGraph;
import org.jgrapht.graph.DefaultEdge;
import org.jgrapht.traverse.TopologicalOrderIterator;
import org.jspecify.annotations.Nullable;

/**
 * Makes the waves of a {@link Rollout}. Confined to one thread at a time.
 *
 * <p>Steps are first made one after another on a fleet of its own, in an order in which each is
 * legal: evictions; moves, component by component of the graph "must vacate before"; what is new.
 * Each step names those that it needs: what vacated its chips last. Waves are then the lengths of
 * the longest chains, but evictions and suspensions come as late as they may.
 */
final class RolloutBuilder {

  private final Fleet before;
  private final Fleet after;
  private final Plan plan;
  private final Rollout.Times times;
  private final RuleRows rows;
  private final boolean anyPod; // detours may change the pod
  private final Map<String, PodCells> cells = new HashMap<>();
  private final List<Job> moves = new ArrayList<>();
  private final List<Job> placed = new ArrayList<>();
  private final List<Draft> drafts = new ArrayList<>();
  private final List<Set<Integer>> rowVacated = new ArrayList<>();
  private boolean[] tight = {};
  private Fleet now;

  /** What is known of the cells of one pod. */
  private static final class PodCells {
    final int[] vacatedBy; // step, or -1
    final int[] movesAway; // number among the moves, or -1
    final int[] wantedBy; // number among moves, then placements, or -1

    PodCells(int n) {
      vacatedBy = new int[n];
      movesAway = new int[n];
      wantedBy = new int[n];
      Arrays.fill(vacatedBy, -1);
      Arrays.fill(movesAway, -1);
      Arrays.fill(wantedBy, -1);
    }
  }

  /** A request with slices that go, or come, or both. */
  private static final class Job {
    final SliceRequest request;
    final List<RunningSlice> from;
    final List<RunningSlice> to;
    final List<RunningSlice> stay;
    final List<RunningSlice> at; // where the slices of from are now
    final Set<Integer> ready = new TreeSet<>(); // what must be done before they are deleted
    final Set<Integer> vacated = new TreeSet<>();

    Job(
        SliceRequest request,
        List<RunningSlice> from,
        List<RunningSlice> to,
        List<RunningSlice> stay) {
      this.request = request;
      this.from = List.copyOf(from);
      this.to = List.copyOf(to);
      this.stay = List.copyOf(stay);
      this.at = new ArrayList<>(from);
    }

    long chips() {
      long sum = 0;
      for (RunningSlice slice : from) {
        sum += slice.shape().chips();
      }
      for (RunningSlice slice : stay) {
        sum += slice.shape().chips();
      }
      return sum;
    }

    Duration restart() {
      Duration longest = Duration.ZERO;
      for (RunningSlice slice : from) {
        Duration time = slice.restartTime().orElse(Disruption.UNKNOWN_RESTART);
        longest = time.compareTo(longest) > 0 ? time : longest;
      }
      return longest;
    }
  }

  private record Draft(Kind kind, Job job, RunningSlice slice, Set<Integer> after) {}

  /** A slice of a job, by its position in {@code at}, and where it goes for a while. */
  private record Detour(int position, RunningSlice slice) {}

  private RolloutBuilder(Fleet before, Plan plan, Fleet after, Rollout.Times times) {
    this.before = before;
    this.after = after;
    this.plan = plan;
    this.times = times;
    this.now = before;
    this.rows = new RuleRows(before, plan, after);
    this.anyPod = rows.size() == 0;
  }

  static List<Wave> build(Fleet before, Plan plan, Fleet after, Rollout.Times times) {
    return new RolloutBuilder(before, plan, after, times).build();
  }

  private List<Wave> build() {
    List<Job> evicted = jobs();
    mark();
    rules(evicted);
    for (Job job : evicted) {
      vacate(job, Kind.EVICT, Set.of());
    }
    moves();
    for (Job job : placed) {
      Set<Integer> need = new TreeSet<>(vacaters(job.to));
      need.addAll(rowNeeds(job));
      create(job, need);
    }
    return waves();
  }

  // ---------------------------------------------------------------- what is to be done

  private List<Job> jobs() {
    List<Job> evicted = new ArrayList<>();
    for (Eviction eviction : plan.evictions()) {
      List<RunningSlice> slices = before.runningOf(eviction.request());
      evicted.add(new Job(slices.get(0).request(), slices, List.of(), List.of()));
    }
    Map<String, Set<SliceId>> moved = new TreeMap<>();
    for (Move move : plan.moves()) {
      SliceId id = move.from().id();
      moved.computeIfAbsent(id.request(), r -> new TreeSet<>()).add(id);
    }
    moved.forEach(
        (request, ids) -> {
          List<RunningSlice> from = new ArrayList<>();
          List<RunningSlice> to = new ArrayList<>();
          List<RunningSlice> stay = new ArrayList<>();
          for (RunningSlice slice : before.runningOf(request)) {
            if (ids.contains(slice.id())) {
              from.add(slice);
              to.add(after.running(slice.id()).orElseThrow());
            } else {
              stay.add(slice);
            }
          }
          moves.add(new Job(from.get(0).request(), from, to, stay));
        });
    for (RequestPlacement answer : plan.placements()) {
      String id = answer.request().id();
      placed.add(new Job(answer.request(), List.of(), after.runningOf(id), List.of()));
    }
    Comparator<Job> order =
        Comparator.<Job>comparingLong(job -> job.request.priority())
            .reversed()
            .thenComparing(job -> job.request.id());
    moves.sort(order);
    placed.sort(order);
    evicted.sort(order);
    return evicted;
  }

  private PodCells of(String pod) {
    return cells.computeIfAbsent(
        pod, id -> new PodCells(before.pod(id).orElseThrow().topology().cellCount()));
  }

  private int[] cellsOf(String pod, Footprint footprint) {
    return before.pod(pod).orElseThrow().topology().cells(footprint);
  }

  private void mark() {
    for (int j = 0; j < moves.size(); j++) {
      for (RunningSlice slice : moves.get(j).from) {
        for (int cell : cellsOf(slice.pod(), slice.footprint())) {
          of(slice.pod()).movesAway[cell] = j;
        }
      }
    }
    for (int j = 0; j < moves.size() + placed.size(); j++) {
      Job job = j < moves.size() ? moves.get(j) : placed.get(j - moves.size());
      for (RunningSlice slice : job.to) {
        for (int cell : cellsOf(slice.pod(), slice.footprint())) {
          of(slice.pod()).wantedBy[cell] = j;
        }
      }
    }
  }

  // ---------------------------------------------------------------- quotas and reserved capacity

  private long counted(int row, SliceRequest request, List<RunningSlice> slices) {
    long sum = 0;
    for (RunningSlice slice : slices) {
      Pod pod = before.pod(slice.pod()).orElseThrow();
      sum += rows.counts(row, request.tenant(), pod) ? slice.shape().chips() : 0;
    }
    return sum;
  }

  private long gain(int row, Job job) {
    return counted(row, job.request, job.to) - counted(row, job.request, job.from);
  }

  /** A row is tight if it might be exceeded were all that comes to come before all that goes. */
  private void rules(List<Job> evicted) {
    tight = new boolean[rows.size()];
    for (int row = 0; row < tight.length; row++) {
      rowVacated.add(new TreeSet<>());
      long most = rows.used(row, before);
      for (Job job : placed) {
        most = Math.addExact(most, Math.max(0, gain(row, job)));
      }
      for (Job job : moves) {
        most = Math.addExact(most, Math.max(0, gain(row, job)));
      }
      tight[row] = most > rows.most(row) && (!evicted.isEmpty() || !moves.isEmpty());
    }
  }

  private Set<Integer> rowNeeds(Job job) {
    Set<Integer> need = new TreeSet<>();
    for (int row = 0; row < tight.length; row++) {
      if (tight[row] && gain(row, job) > 0) {
        need.addAll(rowVacated.get(row));
      }
    }
    return need;
  }

  // ---------------------------------------------------------------- steps, one after another

  /** The steps that last vacated the chips of slices to be. */
  private Set<Integer> vacaters(List<RunningSlice> slices) {
    Set<Integer> steps = new TreeSet<>();
    for (RunningSlice slice : slices) {
      PodCells at = of(slice.pod());
      for (int cell : cellsOf(slice.pod(), slice.footprint())) {
        if (at.vacatedBy[cell] >= 0) {
          steps.add(at.vacatedBy[cell]);
        }
      }
    }
    return steps;
  }

  private int step(Kind kind, Job job, RunningSlice slice, Set<Integer> need) {
    drafts.add(new Draft(kind, job, slice, new TreeSet<>(need)));
    return drafts.size() - 1;
  }

  private void vacate(Job job, Kind kind, Set<Integer> need) {
    Set<Integer> wait = new TreeSet<>(need);
    wait.addAll(job.ready);
    for (RunningSlice slice : job.at) {
      job.vacated.add(leave(job, kind, slice, wait));
    }
    for (int row = 0; row < tight.length; row++) {
      if (tight[row] && gain(row, job) < 0) {
        rowVacated.get(row).addAll(job.vacated);
      }
    }
  }

  private int leave(Job job, Kind kind, RunningSlice slice, Set<Integer> need) {
    int number = step(kind, job, slice, need);
    PodCells at = of(slice.pod());
    for (int cell : cellsOf(slice.pod(), slice.footprint())) {
      at.vacatedBy[cell] = number;
    }
    now = now.release(slice.id());
    return number;
  }

  private void create(Job job, Set<Integer> need) {
    Set<Integer> created = new TreeSet<>();
    Set<Integer> wait = new TreeSet<>(need);
    wait.addAll(job.vacated);
    for (RunningSlice slice : job.to) {
      created.add(step(Kind.CREATE, job, slice, wait));
      now = place(now, slice, plan.rules().now());
    }
    if (!job.from.isEmpty()) {
      for (RunningSlice slice : job.to) {
        step(Kind.RESTORE, job, slice, created);
      }
      created.addAll(job.ready); // they were restarted for a detour before
      for (RunningSlice slice : job.stay) {
        step(Kind.RESTART, job, slice, created);
      }
    }
  }

  /** Places a slice; expired holds of others there end. */
  static Fleet place(Fleet fleet, RunningSlice slice, Instant now) {
    Fleet result = fleet;
    Pod pod = fleet.pod(slice.pod()).orElseThrow();
    if (pod.hasHolds()) {
      int[] cells = pod.topology().cells(slice.footprint());
      for (Hold hold : pod.holds()) {
        if (!hold.isLive(now) && !hold.request().equals(slice.id().request())) {
          for (int cell : pod.topology().cells(hold.footprint())) {
            if (Arrays.binarySearch(cells, cell) >= 0) {
              result = result.dropHold(hold.id());
              break;
            }
          }
        }
      }
    }
    return result.place(slice);
  }

  // ---------------------------------------------------------------- moves

  private void moves() {
    // An edge leads from what must vacate to what waits for it.
    Graph<Integer, DefaultEdge> graph = new DefaultDirectedGraph<>(DefaultEdge.class);
    Graph<Integer, DefaultEdge> order = new DefaultDirectedGraph<>(DefaultEdge.class);
    Set<Integer> ruled = new HashSet<>(); // others wait for their quota, not for their place
    for (int j = 0; j < moves.size(); j++) {
      graph.addVertex(j);
    }
    for (int j = 0; j < moves.size(); j++) {
      for (RunningSlice slice : moves.get(j).to) {
        PodCells at = of(slice.pod());
        for (int cell : cellsOf(slice.pod(), slice.footprint())) {
          if (at.movesAway[cell] >= 0 && at.movesAway[cell] != j) {
            graph.addEdge(at.movesAway[cell], j);
          }
        }
      }
    }
    for (int row = 0; row < tight.length; row++) {
      for (int out = 0; tight[row] && out < moves.size(); out++) {
        for (int in = 0; gain(row, moves.get(out)) < 0 && in < moves.size(); in++) {
          if (gain(row, moves.get(in)) > 0) {
            graph.addEdge(out, in);
            ruled.add(out);
          }
        }
      }
    }
    int[] component = new int[moves.size()];
    List<Set<Integer>> sets = new ArrayList<>();
    for (Set<Integer> set :
        new KosarajuStrongConnectivityInspector<>(graph).stronglyConnectedSets()) {
      sets.add(new TreeSet<>(set));
    }
    sets.sort(Comparator.comparingInt(set -> set.iterator().next()));
    for (int c = 0; c < sets.size(); c++) {
      order.addVertex(c);
      for (int j : sets.get(c)) {
        component[j] = c;
      }
    }
    for (DefaultEdge edge : graph.edgeSet()) {
      int a = component[graph.getEdgeSource(edge)];
      int b = component[graph.getEdgeTarget(edge)];
      if (a != b) {
        order.addEdge(a, b);
      }
    }
    Iterator<Integer> next =
        new TopologicalOrderIterator<>(order, Comparator.<Integer>naturalOrder());
    while (next.hasNext()) {
      Set<Integer> members = sets.get(next.next());
      if (members.size() == 1) {
        move(moves.get(members.iterator().next()));
      } else {
        cycle(graph, members, ruled);
      }
    }
  }

  private Set<Integer> needs(Job job) {
    Set<Integer> need = vacaters(job.to);
    need.addAll(rowNeeds(job));
    return need;
  }

  private void move(Job job) {
    Set<Integer> need = needs(job);
    vacate(job, Kind.DELETE, need);
    create(job, need);
  }

  private void cycle(Graph<Integer, DefaultEdge> graph, Set<Integer> members, Set<Integer> ruled) {
    Duration all = Duration.ZERO;
    for (int j : members) {
      all = all.plus(moves.get(j).restart());
    }
    long[] suspended = new long[moves.size()];
    long[] detoured = new long[moves.size()];
    Map<Integer, List<Detour>> ways = new TreeMap<>();
    for (int j : members) {
      Job job = moves.get(j);
      suspended[j] = product(job.chips(), all.minus(job.restart()).toSeconds());
      if (!ruled.contains(j)) {
        List<Detour> way = detour(job, j, members, Map.of());
        if (way != null) {
          ways.put(j, way);
        }
      }
    }
    Set<Integer> broken;
    while (true) {
      for (int j : members) {
        boolean free = ways.containsKey(j);
        detoured[j] = free ? product(moves.get(j).chips(), moves.get(j).restart().toSeconds()) : 0;
        suspended[j] = free ? 0 : Math.max(1, suspended[j]);
      }
      broken = FeedbackSet.of(graph, members, suspended, detoured);
      int lost = agree(broken, members, ways);
      if (lost < 0) {
        break;
      }
      ways.remove(lost);
      suspended[lost] =
          product(moves.get(lost).chips(), all.minus(moves.get(lost).restart()).toSeconds());
    }
    for (int j : broken) {
      List<Detour> way = ways.get(j);
      if (way == null) {
        vacate(moves.get(j), Kind.SUSPEND, Set.of());
      } else {
        leaveFor(moves.get(j), way);
      }
    }
    Set<Integer> rest = new TreeSet<>(members);
    rest.removeAll(broken);
    Iterator<Integer> next =
        new TopologicalOrderIterator<>(
            new AsSubgraph<>(graph, rest), Comparator.<Integer>naturalOrder());
    while (next.hasNext()) {
      move(moves.get(next.next()));
    }
    // All have left their old places, and no temporary one lies where a member goes.
    for (int j : broken) {
      Job job = moves.get(j);
      if (ways.containsKey(j)) {
        move(job);
      } else {
        create(job, needs(job));
      }
    }
  }

  /** Gives those that take a detour places that do not overlap; else names one that has none. */
  private int agree(Set<Integer> broken, Set<Integer> members, Map<Integer, List<Detour>> ways) {
    Map<String, Set<Integer>> used = new HashMap<>();
    for (int j : broken) {
      if (ways.containsKey(j)) {
        List<Detour> way = detour(moves.get(j), j, members, used);
        if (way == null) {
          return j;
        }
        ways.put(j, way);
        for (Detour detour : way) {
          Set<Integer> taken = used.computeIfAbsent(detour.slice.pod(), p -> new HashSet<>());
          for (int cell : cellsOf(detour.slice.pod(), detour.slice.footprint())) {
            taken.add(cell);
          }
        }
      }
    }
    return -1;
  }

  /** Free places for the slices of a job that stand in the way of others, or null. */
  private @Nullable List<Detour> detour(
      Job job, int number, Set<Integer> members, Map<String, Set<Integer>> used) {
    Map<String, Set<Integer>> taken = new HashMap<>();
    used.forEach((pod, set) -> taken.put(pod, new HashSet<>(set)));
    List<Detour> way = new ArrayList<>();
    for (int i = 0; i < job.at.size(); i++) {
      RunningSlice slice = job.at.get(i);
      PodCells at = of(slice.pod());
      boolean inTheWay = false;
      for (int cell : cellsOf(slice.pod(), slice.footprint())) {
        int by = at.wantedBy[cell];
        inTheWay |= by >= 0 && by != number && members.contains(by);
      }
      if (!inTheWay) {
        continue;
      }
      RunningSlice there = detour(job, slice, members, taken);
      if (there == null) {
        return null;
      }
      way.add(new Detour(i, there));
      Set<Integer> more = taken.computeIfAbsent(there.pod(), p -> new HashSet<>());
      for (int cell : cellsOf(there.pod(), there.footprint())) {
        more.add(cell);
      }
    }
    return way.isEmpty() ? null : way;
  }

  private @Nullable RunningSlice detour(
      Job job, RunningSlice slice, Set<Integer> members, Map<String, Set<Integer>> taken) {
    RunningSlice there = detour(job, slice, now.pod(slice.pod()).orElseThrow(), members, taken);
    boolean mayLeave =
        anyPod
            && job.request.slices() == 1
            && !plan.rules().permission(job.request.id()).withinPod();
    if (there == null && mayLeave) {
      for (Pod pod : now.pods()) {
        there = pod.id().equals(slice.pod()) ? null : detour(job, slice, pod, members, taken);
        if (there != null) {
          break;
        }
      }
    }
    return there;
  }

  private @Nullable RunningSlice detour(
      Job job, RunningSlice slice, Pod pod, Set<Integer> members, Map<String, Set<Integer>> taken) {
    PodCells at = of(pod.id());
    long[] prices = new long[pod.topology().cellCount()];
    Set<Integer> off = taken.getOrDefault(pod.id(), Set.of());
    for (int cell = 0; cell < prices.length; cell++) {
      int by = at.wantedBy[cell];
      prices[cell] = off.contains(cell) || by >= 0 && members.contains(by) ? -1 : by >= 0 ? 1 : 0;
    }
    Footprint place = FreePlaces.cheapest(pod, job.request, slice.shape(), prices);
    return place == null ? null : moved(slice, pod.id(), place, plan.rules().now());
  }

  /** A slice at another place of the same shape. */
  private static RunningSlice moved(
      RunningSlice slice, String pod, Footprint footprint, Instant now) {
    return RunningSlice.builder(slice.request(), slice.id().index(), pod, slice.shape(), footprint)
        .twist(slice.twist())
        .startedAt(now.equals(Instant.EPOCH) ? null : now)
        .restartTime(slice.restartTime().orElse(null))
        .checkpointAt(slice.checkpointAt().orElse(null))
        .endsAt(slice.endsAt().filter(end -> !end.isBefore(now)).orElse(null))
        .build();
  }

  private void leaveFor(Job job, List<Detour> way) {
    List<RunningSlice> places = new ArrayList<>();
    for (Detour detour : way) {
      places.add(detour.slice);
    }
    Set<Integer> need = vacaters(places);
    Set<Integer> gone = new TreeSet<>(need);
    for (Detour detour : way) {
      gone.add(leave(job, Kind.DELETE, job.at.get(detour.position), need));
    }
    Set<Integer> created = new TreeSet<>();
    for (Detour detour : way) {
      created.add(step(Kind.DETOUR, job, detour.slice, gone));
      now = place(now, detour.slice, plan.rules().now());
    }
    job.ready.addAll(created);
    Set<Integer> there = new HashSet<>();
    for (Detour detour : way) {
      job.ready.add(step(Kind.RESTORE, job, detour.slice, created));
      job.at.set(detour.position, detour.slice);
      there.add(detour.position);
    }
    for (int i = 0; i < job.at.size(); i++) {
      if (!there.contains(i)) {
        job.ready.add(step(Kind.RESTART, job, job.at.get(i), created));
      }
    }
    for (RunningSlice slice : job.stay) {
      job.ready.add(step(Kind.RESTART, job, slice, created));
    }
  }

  /** A product of two numbers from 0, or a large one. */
  private static long product(long a, long b) {
    long most = Long.MAX_VALUE / 1_000_000;
    return a == 0 || b <= most / a ? a * b : most;
  }

  // ---------------------------------------------------------------- waves

  private List<Wave> waves() {
    int n = drafts.size();
    int[] wave = new int[n];
    int last = n == 0 ? 0 : 1;
    for (int i = 0; i < n; i++) {
      wave[i] = 1;
      for (int need : drafts.get(i).after) {
        wave[i] = Math.max(wave[i], wave[need] + 1);
      }
      last = Math.max(last, wave[i]);
    }
    Map<Job, Integer> latest = new HashMap<>();
    for (int i = 0; i < n; i++) {
      for (int need : drafts.get(i).after) {
        if (isLate(drafts.get(need).kind)) {
          latest.merge(drafts.get(need).job, wave[i] - 1, Math::min);
        }
      }
    }
    for (int i = 0; i < n; i++) {
      if (isLate(drafts.get(i).kind)) {
        wave[i] = latest.getOrDefault(drafts.get(i).job, last);
      }
    }
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      order.add(i);
    }
    order.sort(
        Comparator.<Integer>comparingInt(i -> wave[i])
            .thenComparing(i -> !drafts.get(i).kind.vacates())
            .thenComparing(i -> !drafts.get(i).kind.takes())
            .thenComparing(i -> drafts.get(i).job.request.priority(), Comparator.reverseOrder())
            .thenComparing(i -> drafts.get(i).slice.id()));
    int[] number = new int[n];
    for (int k = 0; k < n; k++) {
      number[order.get(k)] = k + 1;
    }
    List<Wave> waves = new ArrayList<>();
    List<Step> steps = new ArrayList<>();
    for (int k = 0; k < n; k++) {
      int i = order.get(k);
      steps.add(step(drafts.get(i), number[i], wave[i], number));
      if (k + 1 == n || wave[order.get(k + 1)] != wave[i]) {
        waves.add(Wave.of(wave[i], steps));
        steps.clear();
      }
    }
    return waves;
  }

  private static boolean isLate(Kind kind) {
    return kind == Kind.EVICT || kind == Kind.SUSPEND;
  }

  private Step step(Draft draft, int number, int wave, int[] numbers) {
    RunningSlice slice = draft.slice;
    Pod pod = before.pod(slice.pod()).orElseThrow();
    boolean restarts = draft.kind == Kind.RESTORE || draft.kind == Kind.RESTART;
    Duration time =
        restarts
            ? slice.restartTime().orElse(Disruption.UNKNOWN_RESTART)
            : draft.kind.vacates() ? times.delete() : times.create();
    return new Step(
        number,
        wave,
        draft.kind,
        draft.job.request,
        new Placement(
            slice.id(),
            slice.pod(),
            pod.topology(),
            slice.shape(),
            slice.footprint(),
            slice.twist()),
        draft.after.stream().map(i -> numbers[i]).sorted().toList(),
        time,
        !restarts || slice.restartTime().isPresent());
  }
}
