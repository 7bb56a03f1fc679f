package dev.slicewright.examples;

import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.StopReason;
import dev.slicewright.report.PlanText;
import dev.slicewright.report.PodPicture;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.VictimRules;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * One day of an operator: a host fails and is worked around, a cube is emptied for maintenance, a
 * top job needs room, and in the evening scattered room is gathered. Every plan is carried out step
 * by step, and the pods that it changes are drawn before and after.
 *
 * <pre>mvn -q compile exec:java -Dexec.mainClass=dev.slicewright.examples.OperatorDay</pre>
 */
public final class OperatorDay {

  private static final String BLOCK = "block"; // 12 cubes that optical switches join
  private static final String LAB = "lab"; // a wired torus
  private static final Instant MIDNIGHT = Instant.parse("2026-12-01T00:00:00Z");
  private static final SolveBudget BUDGET =
      SolveBudget.within(Duration.ofSeconds(30)); // or less: a proof ends it

  private final SlicePlanner planner = SlicePlanner.create();
  private Fleet fleet =
      Fleet.builder()
          .pod(BLOCK, TpuTopology.builder(AcceleratorType.V5P).dims(8, 8, 12).build())
          .pod(LAB, TpuTopology.torus(8, 8, 8))
          .build();

  private OperatorDay() {}

  public static void main(String[] args) {
    OperatorDay day = new OperatorDay();
    day.morning();
    day.failure();
    day.maintenance();
    day.topJob();
    day.evening();
  }

  /** What runs when the day begins; some of it ends early and leaves holes. */
  private void morning() {
    List<SliceRequest> wanted = new ArrayList<>();
    wanted.add(in(BLOCK, "train", "4x8x8", 200).tenant("research").build());
    wanted.add(in(BLOCK, "tune", "4x4x8", 100).tenant("research").build());
    wanted.add(in(BLOCK, "serve", "4x4x4", 200).tenant("product").slices(2).build());
    wanted.add(in(BLOCK, "probe", "2x2x4", 100).tenant("product").slices(3).build());
    for (int i = 0; i < 16; i++) {
      wanted.add(in(LAB, "batch-" + i, "2x4x4", i % 2 * 100).tenant("lab-" + i % 3).build());
    }
    PlanningRules rules = at("05:00").build();
    Plan plan = planner.plan(fleet, wanted, rules, BUDGET);
    if (!plan.unplaced().isEmpty()) {
      throw new IllegalStateException("the day cannot begin: " + plan.unplaced());
    }
    fleet = plan.applyTo(fleet);
    for (int i : new int[] {1, 4, 7, 8, 10, 14}) {
      fleet = fleet.release("batch-" + i);
    }
    heading("05:00  what runs", "");
    draw(Set.of(BLOCK, LAB));
  }

  /** A host fails under a slice of four cubes: it keeps three of them and takes another. */
  private void failure() {
    Footprint.Cubes cubes =
        (Footprint.Cubes) fleet.running(new SliceId("train", 0)).orElseThrow().footprint();
    TpuTopology t = fleet.pod(BLOCK).orElseThrow().topology();
    fleet = fleet.failHost(BLOCK, t.hostOfCell(t.firstCell(cubes.cubes().get(1))));
    Plan plan = planner.repair(fleet, at("09:10").build(), BUDGET);
    carryOut("09:10  a host has failed under train", plan);
  }

  /** A cube is emptied by two o'clock; then it is cordoned until the work is done. */
  private void maintenance() {
    Footprint.Cubes cubes =
        (Footprint.Cubes) fleet.running(new SliceId("serve", 0)).orElseThrow().footprint();
    CubeId cube = cubes.cubes().get(0);
    Drain drain = Drain.cubes(BLOCK, List.of(cube)).by(time("14:00"));
    PlanningRules rules =
        at("11:00")
            .permit("train", Permission.PINNED) // it stays, whatever happens
            .build();
    Plan plan = planner.drain(fleet, List.of(drain), rules, BUDGET);
    carryOut("11:00  cube " + cube.index() + " is to be empty by 14:00", plan);
    fleet = fleet.cordon(BLOCK, new Part.Cube(cube));
  }

  /** The most urgent job of the day evicts as little as it can, and nobody twice. */
  private void topJob() {
    SliceRequest urgent = in(LAB, "urgent", "4x8x8", 900).tenant("board").build();
    PlanningRules rules =
        at("13:30")
            .permitByDefault(Permission.EVICTABLE)
            .victims(
                VictimRules.builder()
                    .belowPriority(900)
                    .coolDown(Duration.ofMinutes(30))
                    .protectTenants(List.of("product"))
                    .build())
            .build();
    Plan plan = planner.plan(fleet, List.of(urgent), rules, BUDGET);
    carryOut("13:30  urgent wants 4x8x8", plan);
  }

  /** For the night another job is expected: what has to move for it, at what cost? */
  private void evening() {
    SliceRequest expected = in(LAB, "expected", "2x4x8", 0).build();
    PlanningRules rules =
        at("18:00")
            .permitByDefault(Permission.MOVABLE)
            .disruption(new DisruptionBudget(4, 2_000_000, 3)) // slices, chip-seconds, tenants
            .room(expected, 1)
            .build();
    Plan plan = planner.plan(fleet, List.of(), rules, BUDGET);
    carryOut("18:00  room for 2x4x8", plan);
    fleet = plan.holdRoom(fleet, time("23:00"));
    heading("18:05  held for the night", "");
    fleet
        .holds()
        .forEach(h -> System.out.println(h.id() + " at " + h.footprint() + " of " + h.pod()));
  }

  /** Prints a plan and its steps, and carries them out one by one. */
  private void carryOut(String title, Plan plan) {
    heading(title, PlanText.of(List.of(), plan));
    Set<String> changed = new TreeSet<>();
    plan.moves().forEach(m -> changed.addAll(List.of(m.from().pod(), m.to().pod())));
    plan.evictions().forEach(e -> e.slices().forEach(s -> changed.add(s.pod())));
    plan.placements().forEach(p -> p.slices().forEach(s -> changed.add(s.pod())));
    System.out.println("before:");
    draw(changed);
    Rollout rollout = Rollout.of(fleet, plan);
    System.out.println(PlanText.of(rollout));
    for (int done = 1; done <= rollout.steps().size(); done++) {
      rollout.after(done); // a legal fleet at any time, or this throws
    }
    fleet = rollout.after(rollout.steps().size());
    System.out.println("after:");
    draw(changed);
    if (plan.stopped() != StopReason.OPTIMAL) {
      System.out.println("not proved best: gap " + plan.gap());
    }
  }

  private void draw(Set<String> pods) {
    for (String pod : pods) {
      System.out.println(PodPicture.of(fleet.pod(pod).orElseThrow()).text());
    }
  }

  private static void heading(String title, String text) {
    System.out.println("=".repeat(100) + "\n" + title + "\n\n" + text);
  }

  private static SliceRequest.Builder in(String pod, String id, String shape, long priority) {
    return SliceRequest.builder(id).shape(shape).pod(pod).priority(priority);
  }

  private static PlanningRules.Builder at(String time) {
    return PlanningRules.builder().now(time(time));
  }

  private static Instant time(String time) {
    return MIDNIGHT
        .plus(Duration.ofHours(Integer.parseInt(time.substring(0, 2))))
        .plus(Duration.ofMinutes(Integer.parseInt(time.substring(3))));
  }
}
