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
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The most disjoint boxes of one kind in one pod, as a model: every box where one could lie is an
 * item of its own, so no copies of the request stand in it. Confined to one thread at a time.
 *
 * <p>For a single kind CP-SAT does best with the plain model: a hint, or a row with the value in
 * hand, made it slower.
 */
final class BoxPacking {

  /** The most cells of all boxes; larger models overrun their time. */
  private static final int MAX_LITERALS = 400_000;

  private final Pod pod;
  private final List<Footprint> footprints = new ArrayList<>();
  private final List<Choice> choices = new ArrayList<>();
  private final PlacementModel model;

  private long value = -1;
  private int[] chosen = new int[0];
  private @Nullable Proof proof;
  private boolean disagree;

  private BoxPacking(Pod pod, PlacementModel.Builder builder, List<Draft> drafts) {
    this.pod = pod;
    for (Draft draft : drafts) {
      String name = "box " + footprints.size();
      int item = builder.item(new Item(name, builder.group(Group.wanted(name))));
      builder.candidate(
          new Candidate(
              item, draft.cells(), new long[] {1}, List.of(), 0, 0, 0, false, null));
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
    return new BoxPacking(pod, PlacementModel.builder(t.cellCount(), levels), drafts);
  }

  /**
   * Solves it, and once more with a second setting: what both say is proved.
   *
   * @param known a bound that needs no second opinion, or a number that no packing reaches
   */
  void solve(Asker asker, Formulation formulation, SolveBudget budget, Stop stop, long known) {
    for (int variant = 0; variant < 2 && !stop.getAsBoolean(); variant++) {
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
      if (result == null) {
        return;
      }
      long found = take(result);
      if (value >= known || result.status() != FormulationResult.Status.OPTIMAL) {
        return;
      }
      if (variant == 1 && found == value && !disagree) {
        String name = formulation.name();
        proof = new Proof.Agreement(name, name + " (second setting)");
      }
    }
  }

  private long take(FormulationResult result) {
    int[] solution = result.solution().orElse(null);
    if (solution == null) {
      return -1;
    }
    long found;
    try {
      found = model.evaluate(solution)[0];
    } catch (InvalidInputException e) {
      disagree = true; // what breaks its model is no second opinion either
      return -1;
    }
    if (found > value) {
      disagree |= value >= 0; // the first was said to be optimal
      value = found;
      chosen = solution;
    }
    return found;
  }

  /** How many boxes were found; -1 for no answer. */
  long value() {
    return value;
  }

  /** That no more fit, or null if that is not proved. */
  @Nullable Proof proof() {
    return proof;
  }

  /** Where the boxes lie, for requests in their order. */
  List<RequestPlacement> placements(int number, List<SliceRequest> requests) {
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
            new RequestPlacement(
                request, List.of(slice), choice.ranks()[choice.placeOf(number)]));
      }
    }
    return out;
  }
}
