package dev.slicewright.solve;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Pod;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The most disjoint boxes of one kind in one pod, as a model: every box where one could lie is an
 * item of its own, so no copies of the request stand in it. Safe for concurrent use.
 *
 * <p>For a single kind CP-SAT does best with the plain model: a hint, or a row with the value in
 * hand, made it slower.
 */
final class BoxPacking {

  /** The most cells of all boxes; larger models overrun their time. */
  private static final int MAX_LITERALS = 400_000;

  /** The most boxes of which those that others can stand for are looked for. */
  private static final int MAX_REDUCED = 6_000;

  private final Pod pod;
  private final List<Footprint> footprints = new ArrayList<>();
  private final List<Choice> choices = new ArrayList<>();
  private final PlacementModel model;

  private long value = -1;
  private int[] chosen = new int[0];
  private @Nullable Proof proof;
  private final long[] optima = {-1, -2}; // by setting, as said; no two alike yet

  private BoxPacking(Pod pod, PlacementModel.Builder builder, List<Draft> drafts) {
    this.pod = pod;
    for (Draft draft : drafts) {
      String name = "box " + footprints.size();
      int item = builder.item(new Item(name, builder.group(Group.wanted(name))));
      builder.candidate(
          new Candidate(item, draft.cells(), new long[] {1}, List.of(), 0, 0, 0, false, null));
      footprints.add(draft.footprint());
      choices.add(draft.choice());
    }
    this.model = builder.build();
  }

  private record Draft(Choice choice, Footprint footprint, int[] cells) {}

  /** The model of a pod, or null if it is too large or there is no place. */
  static @Nullable BoxPacking of(
      Pod pod, int number, SliceRequest like, List<Choice> ways, Instant now) {
    PodSpace space = PodSpace.of(pod, now, false);
    TpuTopology t = pod.topology();
    List<Draft> drafts = new ArrayList<>();
    long literals = 0;
    for (Choice choice : ways) {
      if (choice.placeOf(number) < 0) {
        continue;
      }
      int want = space.register(Want.of(like, choice.shape(), pod, now));
      if (want < 0) {
        continue;
      }
      long each = choice.shape().chips() / t.chipsPerCell();
      literals += each * space.countCandidates(want);
      if (literals > MAX_LITERALS) {
        return null;
      }
      space.forEachCandidate(
          want,
          f -> {
            int[] cells = t.cells(f);
            Arrays.sort(cells);
            drafts.add(new Draft(choice, f, cells));
          });
    }
    if (drafts.isEmpty()) {
      return null;
    }
    List<Level> levels = List.of(new Level("slices", true));
    return new BoxPacking(pod, PlacementModel.builder(t.cellCount(), levels), kernel(drafts));
  }

  /**
   * Without boxes that others can stand for: where all that a box u meets is met by a box v too,
   * and the two meet, v may always be exchanged for u, so it is left out. The rule is known from
   * independent sets as dominance (Fomin, Grandoni and Kratsch, 2009). O(n · d · n / 64) a pass for
   * n boxes that meet d others each.
   */
  private static List<Draft> kernel(List<Draft> drafts) {
    int n = drafts.size();
    if (n > MAX_REDUCED) {
      return drafts;
    }
    Map<Integer, BitSet> byCell = new HashMap<>();
    for (int i = 0; i < n; i++) {
      for (int cell : drafts.get(i).cells()) {
        byCell.computeIfAbsent(cell, c -> new BitSet(n)).set(i);
      }
    }
    BitSet[] meets = new BitSet[n]; // itself included
    for (int i = 0; i < n; i++) {
      meets[i] = new BitSet(n);
      for (int cell : drafts.get(i).cells()) {
        meets[i].or(byCell.getOrDefault(cell, meets[i]));
      }
    }
    BitSet left = new BitSet(n);
    left.set(0, n);
    BitSet look = (BitSet) left.clone(); // whose neighbourhood has shrunk
    while (!look.isEmpty()) {
      int u = look.nextSetBit(0);
      look.clear(u);
      if (!left.get(u)) {
        continue;
      }
      for (int v = meets[u].nextSetBit(0); v >= 0; v = meets[u].nextSetBit(v + 1)) {
        if (v != u && isWithin(meets[u], meets[v])) {
          left.clear(v);
          for (int w = meets[v].nextSetBit(0); w >= 0; w = meets[v].nextSetBit(w + 1)) {
            if (w != v) {
              meets[w].clear(v);
              look.set(w);
            }
          }
        }
      }
    }
    List<Draft> out = new ArrayList<>();
    left.stream().forEach(i -> out.add(drafts.get(i)));
    return out;
  }

  private static boolean isWithin(BitSet small, BitSet large) {
    for (int i = small.nextSetBit(0); i >= 0; i = small.nextSetBit(i + 1)) {
      if (!large.get(i)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Solves it with one setting. What two settings say is proved; they may be asked side by side.
   *
   * @return whether it says that its answer is optimal
   */
  boolean solve(Asker asker, Formulation formulation, int variant, SolveBudget budget, Stop stop) {
    FormulationTask task =
        new FormulationTask(
            0,
            new long[0],
            stop.deadlineNanos(),
            budget,
            variant,
            null,
            solution -> {},
            stop.token());
    FormulationResult result = asker.ask(formulation, model, task);
    return result != null && take(formulation.name(), variant, result);
  }

  private synchronized boolean take(String name, int variant, FormulationResult result) {
    int[] solution = result.solution().orElse(null);
    if (solution == null) {
      return false;
    }
    long found;
    try {
      found = model.evaluate(solution)[0];
    } catch (InvalidInputException e) {
      return false; // what breaks its model is no opinion either
    }
    if (found > value) {
      value = found;
      chosen = solution;
    }
    if (result.status() != FormulationResult.Status.OPTIMAL) {
      return false;
    }
    optima[variant] = found;
    if (optima[0] == optima[1] && found == value) {
      proof = new Proof.Agreement(name, name + " (second setting)");
    }
    return true;
  }

  /** How many boxes the model has. */
  int size() {
    return choices.size();
  }

  /** How many boxes were found; -1 for no answer. */
  synchronized long value() {
    return value;
  }

  /** That no more fit, or null if that is not proved. */
  synchronized @Nullable Proof proof() {
    return proof;
  }

  /** Where the boxes lie, for requests in their order. */
  synchronized List<RequestPlacement> placements(int number, List<SliceRequest> requests) {
    List<RequestPlacement> out = new ArrayList<>();
    for (int candidate : chosen) {
      if (candidate >= 0 && out.size() < requests.size()) {
        SliceRequest request = requests.get(out.size());
        Choice choice = choices.get(candidate);
        Placement slice =
            new Placement(
                new SliceId(request.id(), 0),
                pod.id(),
                pod.topology(),
                choice.shape(),
                footprints.get(candidate),
                Twist.NONE);
        out.add(
            new RequestPlacement(request, List.of(slice), choice.ranks()[choice.placeOf(number)]));
      }
    }
    return out;
  }
}
