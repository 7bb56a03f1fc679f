package dev.slicewright.solve;

import dev.slicewright.Problems;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Goals;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The largest legal shape that fits, pod by pod. Confined to one thread at a time.
 *
 * <p>Shapes are tried by falling chips, those beyond the free chips left out; the space of the pod
 * rules out most of the others at once. O(s) for s legal shapes of a pod, and one pass over it.
 */
final class LargestRun {

  /** More chips first; then the more even box. */
  static final Comparator<Shape> LARGEST_FIRST =
      Comparator.comparingLong(Shape::chips)
          .reversed()
          .thenComparingInt(s -> s.sorted().z() == 1 ? s.sorted().y() : s.sorted().z())
          .thenComparing(Shape::sorted, Comparator.reverseOrder());

  private LargestRun() {}

  static LargestPlaceable of(Fleet fleet, SliceRequest like, PlanningRules rules) {
    Objects.requireNonNull(fleet, "fleet");
    Objects.requireNonNull(like, "like");
    Objects.requireNonNull(rules, "rules");
    Fleet open = withoutDrained(fleet, rules);
    Instance in = new Instance(open, List.of(like), still(rules), CostTerms.DEFAULT);
    Map<TpuTopology, List<Shape>> shapes = new HashMap<>();
    List<LargestPlaceable.InPod> out = new ArrayList<>();
    for (int p = 0; p < in.pods.size(); p++) {
      Pod pod = in.pods.get(p);
      if (Instance.matches(like, pod)) {
        List<Shape> legal = shapes.computeIfAbsent(pod.topology(), LargestRun::legal);
        out.add(inPod(in, p, like, legal));
      }
    }
    return new LargestPlaceable(out);
  }

  /** The rules that say what may be new where nothing moves or leaves. */
  static PlanningRules still(PlanningRules rules) {
    return PlanningRules.builder()
        .now(rules.now())
        .quotas(rules.quotas())
        .reserved(rules.reserved())
        .build();
  }

  /** The fleet as anything new sees it: what is to be drained takes nothing. */
  static Fleet withoutDrained(Fleet fleet, PlanningRules rules) {
    if (rules.drains().isEmpty()) {
      return fleet;
    }
    PlanningRules.Builder drained = PlanningRules.builder().now(rules.now());
    rules.drains().forEach(drained::drain);
    PlanningRules alone = drained.build();
    Problems problems = new Problems();
    Goals.check(fleet, List.of(), alone, problems);
    problems.throwIfAny("planning input");
    return Goals.of(fleet, alone).cordoned(fleet);
  }

  private static List<Shape> legal(TpuTopology topology) {
    List<Shape> all = new ArrayList<>(topology.legalShapes());
    all.sort(LARGEST_FIRST);
    return all;
  }

  private static LargestPlaceable.InPod inPod(
      Instance in, int p, SliceRequest like, List<Shape> legal) {
    Pod pod = in.pods.get(p);
    TpuTopology t = pod.topology();
    long room = (long) pod.room().freeCells() * t.chipsPerCell();
    for (Hold hold : in.fleet.holdsOf(like.id())) {
      if (hold.pod().equals(pod.id()) && hold.isLive(in.rules.now())) {
        room += (long) t.cells(hold.footprint()).length * t.chipsPerCell();
      }
    }
    long[] credit = in.credits == null ? null : in.credits[0];
    for (int l = 0; l < in.limits.size(); l++) {
      Limit limit = in.limits.get(l);
      if (limit.counts(like.tenant(), p)) {
        room = Math.min(room, limit.room() + (credit == null ? 0 : credit[l]));
      }
    }
    List<Want> wants = new ArrayList<>();
    List<Shape> of = new ArrayList<>();
    boolean twisted = like.interconnect() == Interconnect.TWISTED;
    SliceRequest turned = like.mayTurn() ? like : like.toBuilder().mayTurn(true).build();
    for (Shape shape : legal) {
      if (shape.chips() <= room && (!twisted || t.twist(shape).isPresent())) {
        wants.add(Want.of(turned, shape, pod, in.rules.now()));
        of.add(shape);
      }
    }
    int found = wants.isEmpty() ? -1 : PodSpace.of(pod, in.rules.now(), false).firstThatFits(wants);
    return found < 0
        ? new LargestPlaceable.InPod(pod.id(), null, 0)
        : new LargestPlaceable.InPod(pod.id(), of.get(found), of.get(found).chips());
  }
}
