package dev.slicewright.report;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Staying;
import dev.slicewright.plan.Step;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.plan.Wave;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A plan as plain text for people: what was asked, what goes where, what must move or go, what
 * stays unplaced and why, how good the plan is and what proves it, and where the time went.
 * Immutable, safe to share.
 *
 * <p>Sections without content are left out. Each line ends with {@code \n}; a table is as wide as
 * its content. The same plan gives the same text in every locale; its times are of course those of
 * one run.
 */
public final class PlanText {

  private static final int HOSTS_SHOWN = 3;
  private static final int STEPS_SHOWN = 6;

  private final StringBuilder out = new StringBuilder();

  private PlanText() {}

  /**
   * The whole report.
   *
   * @param requests the requests that the plan answers, in the order given
   * @param plan the plan
   * @return the text
   */
  public static String of(List<SliceRequest> requests, Plan plan) {
    Objects.requireNonNull(plan, "plan");
    PlanText text = new PlanText();
    text.requests(List.copyOf(requests), plan);
    text.placed(plan);
    text.moves(plan);
    text.evictions(plan);
    text.broken(plan);
    text.staying(plan);
    text.unplaced(plan);
    text.room(plan);
    text.score(plan);
    text.end(plan);
    return text.out.toString();
  }

  /**
   * A rollout wave by wave: a line for each kind of step, and what gives way so that others can
   * move.
   *
   * @param rollout the rollout
   * @return the text; one line if there is nothing to do
   */
  public static String of(Rollout rollout) {
    PlanText text = new PlanText();
    text.heading(
        rollout.waves().isEmpty()
            ? "Nothing to do"
            : Words.plural(rollout.steps().size(), "step")
                + " in "
                + Words.plural(rollout.waves().size(), "wave")
                + ", about "
                + Words.plural(rollout.time().toSeconds(), "second"));
    for (Wave wave : rollout.waves()) {
      text.wave(wave);
    }
    for (Rollout.GivingWay way : rollout.givingWay()) {
      text.out
          .append("  note: ")
          .append(Words.oneLine(way.request()))
          .append(
              way.kind() == Step.Kind.SUSPEND
                  ? " is suspended from wave " + way.from() + " to wave " + way.to()
                  : " makes a detour from wave " + way.from() + " to wave " + way.to())
          .append(" so that others can move: ")
          .append(Words.plural(way.chipSeconds(), "chip-second"))
          .append('\n');
    }
    return text.out.toString();
  }

  private void wave(Wave wave) {
    out.append("wave ").append(wave.number());
    if (!wave.time().isZero()) {
      out.append(", ")
          .append(wave.timeKnown() ? "" : "about ")
          .append(Words.plural(wave.time().toSeconds(), "second"));
    }
    out.append('\n');
    for (Step.Kind kind : Step.Kind.values()) {
      List<String> slices = new ArrayList<>();
      int more = 0;
      for (Step step : wave.steps()) {
        if (step.kind() == kind && slices.size() < STEPS_SHOWN) {
          slices.add(
              Words.oneLine(step.slice().toString())
                  + (kind.takes() || kind.vacates()
                      ? (kind.takes() ? " at " : " from ")
                          + footprint(step.at())
                          + " of "
                          + Words.oneLine(step.at().pod())
                      : ""));
        } else if (step.kind() == kind) {
          more++;
        }
      }
      if (!slices.isEmpty()) {
        out.append("  ")
            .append(kind)
            .append(' ')
            .append(String.join("; ", slices))
            .append(more > 0 ? " and " + Words.count(more) + " more" : "")
            .append('\n');
      }
    }
  }

  private void heading(String text) {
    if (out.length() > 0) {
      out.append('\n');
    }
    out.append(text).append('\n');
  }

  /** Columns as wide as their content; those whose first row begins with '>' are right-aligned. */
  private void table(List<List<String>> rows) {
    int columns = rows.get(0).size();
    int[] widths = new int[columns];
    boolean[] right = new boolean[columns];
    for (int c = 0; c < columns; c++) {
      right[c] = rows.get(0).get(c).startsWith(">");
      for (List<String> row : rows) {
        widths[c] = Math.max(widths[c], cell(row, c).length());
      }
    }
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder(" ");
      for (int c = 0; c < columns; c++) {
        String cell = cell(row, c);
        line.append(' ')
            .append(right[c] ? Words.padLeft(cell, widths[c]) : Words.pad(cell, widths[c]))
            .append(' ');
      }
      out.append(line.toString().stripTrailing()).append('\n');
    }
  }

  private static String cell(List<String> row, int column) {
    String text = row.get(column);
    return Words.oneLine(text.startsWith(">") ? text.substring(1) : text);
  }

  // ---------------------------------------------------------------- sections

  private void requests(List<SliceRequest> requests, Plan plan) {
    if (requests.isEmpty()) {
      return;
    }
    heading(Words.plural(requests.size(), "request"));
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("request", ">slices", "wanted", ">priority", "tenant", "also", "answer"));
    for (SliceRequest r : requests) {
      String answer =
          plan.placement(r.id()).isPresent()
              ? "placed"
              : plan.unplaced().stream()
                  .filter(u -> u.request().equals(r.id()))
                  .map(u -> Fields.word(u.reason()).replace('-', ' '))
                  .findFirst()
                  .orElse("no answer");
      rows.add(
          List.of(
              Words.shorten(r.id(), 40),
              Words.count(r.slices()),
              wanted(r),
              Words.count(r.priority()),
              Words.shorten(r.tenant(), 20),
              also(r),
              answer));
    }
    table(rows);
  }

  private static String wanted(SliceRequest r) {
    return r.chips() > 0
        ? Words.plural(r.chips(), "chip")
        : String.join(" or ", r.shapes().stream().map(Shape::toString).toList());
  }

  private static String also(SliceRequest r) {
    List<String> also = new ArrayList<>();
    if (!r.accelerators().isEmpty()) {
      also.add(String.join("/", r.accelerators()));
    }
    r.pod().ifPresent(p -> also.add("pod " + p));
    r.gang().ifPresent(g -> also.add("gang " + g));
    labels(also, r.requiredLabels(), "=");
    r.forbiddenLabels().forEach((k, values) -> values.forEach(v -> also.add(k + "≠" + v)));
    if (r.spread().kind() == Spread.Kind.AT_MOST) {
      also.add(
          "at most "
              + r.spread().max()
              + " a "
              + (r.spread().label().isEmpty() ? "pod" : r.spread().label()));
    } else if (r.spread().kind() != Spread.Kind.ANY) {
      also.add(Fields.word(r.spread().kind()).replace('-', ' '));
    }
    if (r.interconnect() != Interconnect.ANY) {
      also.add(Fields.word(r.interconnect()));
    }
    if (r.healthyOnly()) {
      also.add("healthy only");
    }
    if (!r.mayTurn()) {
      also.add("not turned");
    }
    return String.join(", ", also);
  }

  private static void labels(List<String> also, Map<String, String> labels, String sign) {
    labels.forEach((k, v) -> also.add(k + sign + v));
  }

  private void placed(Plan plan) {
    if (plan.placements().isEmpty()) {
      return;
    }
    long chips = plan.placements().stream().mapToLong(RequestPlacement::chips).sum();
    heading(
        "Placed: "
            + Words.plural(plan.placements().size(), "request")
            + ", "
            + Words.plural(chips, "chip"));
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("slice", "shape", "pod", "footprint", "turned", "hosts in worker order"));
    for (RequestPlacement request : plan.placements()) {
      for (Placement p : request.slices()) {
        rows.add(
            List.of(
                Words.shorten(p.id().toString(), 40),
                p.shape()
                    + (request.shapeRank() > 0
                        ? " (choice " + (request.shapeRank() + 1) + ")"
                        : ""),
                p.pod(),
                footprint(p),
                p.orientation() == Orientation.XYZ
                    ? "no"
                    : p.orientation().name().toLowerCase(java.util.Locale.ROOT),
                hosts(p)));
      }
    }
    table(rows);
  }

  private static String footprint(Placement p) {
    return p.topology().describe(p.footprint()) + (p.twist().isNone() ? "" : ", twisted");
  }

  /** Where a slice ran, in the words of a topology that the plan shows for its pod. */
  private static String footprint(Plan plan, RunningSlice slice) {
    for (Move move : plan.moves()) {
      if (move.to().pod().equals(slice.pod())) {
        return move.to().topology().describe(slice.footprint())
            + (slice.twist().isNone() ? "" : ", twisted");
      }
    }
    for (RequestPlacement request : plan.placements()) {
      for (Placement p : request.slices()) {
        if (p.pod().equals(slice.pod())) {
          return p.topology().describe(slice.footprint())
              + (slice.twist().isNone() ? "" : ", twisted");
        }
      }
    }
    return slice.footprint() instanceof Footprint.Box box
        ? box.extents() + " at " + box.origin()
        : slice.footprint().toString();
  }

  private static String hosts(Placement p) {
    List<String> names = p.hostNames();
    int shown = names.size() <= HOSTS_SHOWN + 1 ? names.size() : HOSTS_SHOWN;
    return String.join(" ", names.subList(0, shown))
        + (shown < names.size() ? " … (" + Words.count(names.size()) + " hosts)" : "")
        + (p.orderAssumed() ? " (order assumed)" : "");
  }

  private void moves(Plan plan) {
    if (plan.moves().isEmpty()) {
      return;
    }
    heading("Moves: " + Words.plural(plan.moves().size(), "slice"));
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("slice", "from pod", "footprint", "to pod", "footprint", "hosts"));
    for (Move m : plan.moves()) {
      rows.add(
          List.of(
              Words.shorten(m.from().id().toString(), 40),
              m.from().pod(),
              footprint(plan, m.from()),
              m.to().pod(),
              footprint(m.to()),
              hosts(m.to())));
    }
    table(rows);
  }

  private void evictions(Plan plan) {
    if (plan.evictions().isEmpty()) {
      return;
    }
    heading("Evictions: " + Words.plural(plan.evictions().size(), "request"));
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("request", ">slices", ">chips", ">priority"));
    for (Eviction e : plan.evictions()) {
      long chips = e.slices().stream().mapToLong(s -> s.shape().chips()).sum();
      rows.add(
          List.of(
              Words.shorten(e.request(), 40),
              Words.count(e.slices().size()),
              Words.count(chips),
              e.slices().isEmpty() ? "" : Words.count(e.slices().get(0).request().priority())));
    }
    table(rows);
  }

  private void broken(Plan plan) {
    if (plan.broken().isEmpty()) {
      return;
    }
    heading("Stay broken: " + Words.plural(plan.broken().size(), "slice"));
    for (BrokenSlice b : plan.broken()) {
      sentence(b.slice().id().toString(), Fields.word(b.reason()).replace('-', ' '), b.sentence());
    }
  }

  private void staying(Plan plan) {
    if (plan.staying().isEmpty()) {
      return;
    }
    heading("Not out of drained parts in time: " + Words.plural(plan.staying().size(), "slice"));
    for (Staying s : plan.staying()) {
      sentence(s.slice().id().toString(), Fields.word(s.reason()).replace('-', ' '), s.sentence());
    }
  }

  private void room(Plan plan) {
    if (plan.rules().rooms().isEmpty()) {
      return;
    }
    long asked = plan.rules().rooms().stream().mapToLong(RoomGoal::times).sum();
    heading("Room left: " + Words.count(plan.room().size()) + " of " + Words.count(asked));
    if (plan.room().isEmpty()) {
      return;
    }
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("room", "shape", "pod", "footprint"));
    for (RequestPlacement request : plan.room()) {
      for (Placement p : request.slices()) {
        rows.add(
            List.of(
                Words.shorten(p.id().toString(), 40), p.shape().toString(), p.pod(), footprint(p)));
      }
    }
    table(rows);
  }

  private void unplaced(Plan plan) {
    if (plan.unplaced().isEmpty()) {
      return;
    }
    heading("Not placed: " + Words.plural(plan.unplaced().size(), "request"));
    for (Unplaced u : plan.unplaced()) {
      sentence(
          u.request(),
          Fields.word(u.reason()).replace('-', ' ') + (u.never() ? ", for ever" : ""),
          u.sentence());
    }
  }

  private void sentence(String who, String why, String sentence) {
    out.append("  ")
        .append(Words.oneLine(who))
        .append(" (")
        .append(why)
        .append("): ")
        .append(Words.oneLine(sentence))
        .append('\n');
  }

  private void score(Plan plan) {
    if (plan.score().levels().isEmpty()) {
      return;
    }
    heading("Score, most important first");
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("level", ">value", "", ">bound", ">gap", "bound from"));
    for (Score.LevelScore l : plan.score().levels()) {
      boolean max = l.level().kind().maximise();
      rows.add(
          List.of(
              l.level().name(),
              Words.count(l.value()),
              l.isProved() ? "=" : max ? "≤" : "≥",
              Words.count(l.bound()),
              Words.percent(l.gap()),
              proof(l)));
    }
    table(rows);
  }

  private static String proof(Score.LevelScore level) {
    String proof =
        level.proof() instanceof Proof.Trivial ? "all that is asked for" : level.proof().toString();
    return proof
        + (level.isProved() ? "" : "; not proved")
        + (level.claimedBound().isPresent()
            ? "; one solver alone claims " + Words.count(level.claimedBound().getAsLong())
            : "");
  }

  private void end(Plan plan) {
    heading(
        "Stopped: "
            + Fields.word(plan.stopped()).replace('-', ' ')
            + ", gap "
            + Words.percent(plan.gap())
            + (!plan.score().levels().isEmpty() && plan.score().isOptimal()
                ? " (proved optimal)"
                : "")
            + ", after "
            + Words.millis(plan.time())
            + (plan.engines().isEmpty() ? "" : ", with " + String.join(", ", plan.engines())));
    if (!plan.phases().isEmpty()) {
      List<List<String>> rows = new ArrayList<>();
      rows.add(List.of("phase", ">time", ">size", ""));
      for (Phase p : plan.phases()) {
        rows.add(
            List.of(
                p.name(),
                Words.millis(p.time()),
                p.size() == 0 ? "" : Words.count(p.size()),
                p.size() == 0 ? "" : unit(p)));
      }
      table(rows);
    }
    for (String note : plan.notes()) {
      out.append("  note: ").append(Words.oneLine(note)).append('\n');
    }
  }

  private static String unit(Phase phase) {
    String one =
        switch (phase.name()) {
          case "translate", "search", "explain" -> "request";
          case "bound" -> "level";
          case "build", "solve" -> "candidate";
          case "verify" -> "placed request";
          default -> "";
        };
    return one.isEmpty() || phase.size() == 1 ? one : one + "s";
  }
}
