package dev.slicewright.bench;

import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Twist;
import java.util.ArrayList;
import java.util.List;

/**
 * Turns what an engine found into a plan, has it verified, and reads off values, bounds and gap.
 * Stateless.
 */
final class Judge {

  private Judge() {}

  static List<Level> levels(BenchProblem p) {
    return ObjectiveLevels.of(p.fleet(), p.requests(), p.rules(), CostTerms.DEFAULT);
  }

  static Row judge(BenchProblem p, String engine, long limitMillis, Outcome o) {
    Plan plan = o.plan() == null ? plan(p, o.placed()) : o.plan();
    List<PlanVerifier.Violation> violations =
        PlanVerifier.verify(p.fleet(), p.requests(), p.rules(), CostTerms.DEFAULT, plan);
    List<LevelScore> levels = plan.score().levels();
    long[] values = new long[levels.size()];
    Long[] bounds = new Long[levels.size()];
    boolean claims = false;
    for (int l = 0; l < values.length; l++) {
      values[l] = levels.get(l).value();
      if (o.plan() != null) {
        bounds[l] = levels.get(l).bound();
        claims = true;
      } else if (o.bounds() != null && o.bounds()[l] != null) {
        bounds[l] = o.bounds()[l];
        claims = true;
      }
    }
    long chips = plan.placements().stream().mapToLong(RequestPlacement::chips).sum();
    Row.Proofs proofs = o.plan() == null ? Row.Proofs.NONE : proofs(plan, violations.isEmpty());
    Double gap = claims ? gap(levels, values, bounds) : null;
    Row row =
        new Row(
            p.family(),
            p.seed(),
            p.chips(),
            p.items(),
            engine,
            limitMillis,
            o.millis(),
            o.stopped(),
            chips,
            values,
            bounds,
            gap,
            violations.isEmpty(),
            proofs,
            right(p, plan, values, bounds));
    if (!violations.isEmpty()) {
      System.out.println(
          row.family() + " seed " + row.seed() + " " + engine + " refused: " + violations.get(0));
    }
    return row;
  }

  /** As {@code Plan.gap()}: of the first level without proof; null if no bound of it is claimed. */
  private static Double gap(List<LevelScore> levels, long[] values, Long[] bounds) {
    for (int l = 0; l < values.length; l++) {
      if (bounds[l] == null) {
        return null;
      }
      if (bounds[l] != values[l]) {
        boolean max = levels.get(l).level().kind().maximise();
        return Math.abs((double) bounds[l] - values[l])
            / Math.max(1.0, max ? (double) bounds[l] : (double) values[l]);
      }
    }
    return 0.0;
  }

  private static Row.Proofs proofs(Plan plan, boolean verified) {
    int certificates = 0;
    boolean agreement = false;
    for (LevelScore level : plan.score().levels()) {
      agreement |= level.isProved() && level.proof() instanceof Proof.Agreement;
      if (level.proof() instanceof Proof.Certified) {
        certificates++;
      } else if (level.proof() instanceof Proof.Branched branched) {
        certificates += branched.tree().leaves();
      }
    }
    return new Row.Proofs(
        plan.score().isOptimal() && agreement, certificates, verified ? certificates : 0);
  }

  /** Right about feasibility: all placed, or nothing placed and nothing else claimed possible. */
  private static Boolean right(BenchProblem p, Plan plan, long[] values, Long[] bounds) {
    if (p.feasible().isEmpty()) {
      return null;
    }
    if (p.feasible().get()) {
      return plan.unplaced().isEmpty();
    }
    for (int l = 0; l < values.length; l++) {
      if (values[l] != 0 || bounds[l] == null || bounds[l] != 0) {
        return false;
      }
    }
    return true;
  }

  /** Placements as a plan that claims nothing but them. */
  static Plan plan(BenchProblem p, List<Placing> placed) {
    List<Level> levels = levels(p);
    long[] values = new long[levels.size()];
    Plan.Builder b = Plan.builder(p.fleet().version(), p.rules()).stopped(StopReason.EXHAUSTED);
    for (int r = 0; r < p.requests().size(); r++) {
      SliceRequest request = p.requests().get(r);
      Placing to = placed.isEmpty() ? null : placed.get(r);
      if (to == null) {
        b.unplaced(
            new Unplaced(
                request.id(),
                Reason.UNDECIDED,
                false,
                Unplaced.Evidence.of(request.shapes().get(0).chips() * request.slices()),
                "The engine did not place it."));
        continue;
      }
      List<Placement> slices = new ArrayList<>();
      for (int s = 0; s < to.pods().size(); s++) {
        slices.add(
            new Placement(
                new SliceId(request.id(), s),
                to.pods().get(s),
                p.fleet().pod(to.pods().get(s)).orElseThrow().topology(),
                to.shape(),
                to.footprints().get(s),
                Twist.NONE));
      }
      b.placement(new RequestPlacement(request, slices, 0));
      values[levels.indexOf(new Level(Level.Kind.PLACED, request.priority()))] +=
          to.shape().chips() * request.slices();
    }
    List<LevelScore> scores = new ArrayList<>();
    for (int l = 0; l < values.length; l++) {
      Level level = levels.get(l);
      long bound = PlanVerifier.trivialBound(p.fleet(), p.requests(), p.rules(), level);
      // Nothing that runs may move, so that all of it that is not broken is kept.
      long value = level.kind() == Level.Kind.KEPT ? bound : values[l];
      scores.add(new LevelScore(level, value, bound, new Proof.Trivial(), null));
    }
    Score score = new Score(scores);
    return b.score(score)
        .stopped(score.isOptimal() ? StopReason.OPTIMAL : StopReason.EXHAUSTED)
        .build();
  }
}
