package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.FakeGke.job;
import static dev.slicewright.kubernetes.FakeGke.jobSet;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.examples.scheduler.SchedulerLoop;
import dev.slicewright.plan.Plan;
import dev.slicewright.solve.SlicePlanner;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The example of a scheduler against {@link FakeGke}, over HTTP: what it creates is formed, what it
 * patches is accepted, and pods run where the plan has them.
 */
class LiveClusterTest {

  /** What the loop logs is what its rounds return; here it would only fill the output. */
  private static final Logger QUIET = Logger.getLogger(SchedulerLoop.class.getName());

  static {
    QUIET.setLevel(Level.OFF);
  }

  private static final String JOBS = "/apis/batch/v1/namespaces/team-a/jobs/";
  private static final int MANY_ROUNDS = 60;
  private static final int SECONDS = 60; // until a watch that is silent counts as broken

  private final InstantSource clock = InstantSource.fixed(Instant.parse("2026-12-01T09:00:00Z"));
  private final FakeGke gke = new FakeGke();
  private final KubernetesClient client = gke.connect();
  private final SchedulerLoop loop = new SchedulerLoop(gke.connect(), clock, Duration.ZERO);

  @AfterEach
  void close() {
    gke.close();
  }

  // ---- from nodes and a job to pods that run

  @Test
  void aJobRunsOnTheSliceThatWasPlannedForIt() {
    cubes("blk-a", "c1", "c2", "c3");
    cubes("blk-b", "d1");
    gke.add(job("train", "4x4x8", 32));
    settle(loop);

    assertThat(gke.slices()).hasSize(1);
    GenericKubernetesResource slice = gke.slices().get(0);
    assertThat(FakeGke.state(slice)).isEqualTo("ACTIVE");
    assertThat(SliceRules.checkAgainst(slice, gke.nodes(), gke.slices())).isEmpty();
    assertThat(gke.running("team-a")).hasSize(32);
    assertThat(gke.running("team-a").values()).hasSameElementsAs(nodesOf(slice));
    assertThat(blocks(gke.running("team-a"))).containsExactly("blk-a");
  }

  @Test
  void aWatchSeesTheSliceComeToLife() throws InterruptedException {
    cubes("blk-a", "c1");
    gke.add(job("train", "4x4x4", 16));
    var seen = new LinkedBlockingQueue<String>();
    Watcher<GenericKubernetesResource> watcher =
        new Watcher<>() {
          @Override
          public void eventReceived(Action action, GenericKubernetesResource slice) {
            seen.add(action + " " + FakeGke.state(slice));
          }

          @Override
          public void onClose(WatcherException cause) {}
        };
    try (Watch watch = client.genericKubernetesResources(FakeGke.SLICE).watch(watcher)) {
      settle(loop);
      List<String> states = new ArrayList<>();
      while (!states.contains("MODIFIED ACTIVE")) {
        states.add(seen.poll(SECONDS, TimeUnit.SECONDS));
        assertThat(states).as("the watch is silent").doesNotContainNull();
      }
      assertThat(states)
          .containsSubsequence(
              "ADDED ", "MODIFIED SliceNotCreated", "MODIFIED ACTIVATING", "MODIFIED ACTIVE");
      assertThat(watch).isNotNull();
    }
  }

  @Test
  void allIsQuietOnceEverythingRuns() {
    cubes("blk-a", "c1", "c2");
    gke.add(job("train", "4x4x4", 16));
    settle(loop);
    int writes = gke.writes().size();
    loop.resync();
    assertThat(loop.round()).isEmpty();
    assertThat(new SchedulerLoop(gke.connect(), clock, Duration.ZERO).round())
        .as("that has seen nothing")
        .isEmpty();
    SchedulerLoop other = new SchedulerLoop(gke.connect(), clock, Duration.ZERO);
    other.resync();
    assertThat(other.round()).as("a new leader").isEmpty();
    assertThat(gke.writes()).hasSize(writes);
  }

  @Test
  void whatIsReadBackIsWhatWasPlanned() {
    cubes("blk-a", "c1", "c2", "c3");
    gke.add(job("train", "4x4x8", 32));
    gke.add(job("eval", "2x2x2", 2));
    settle(loop);
    Cluster cluster = ClusterReader.create().read(all());
    assertThat(cluster.requests()).isEmpty();
    assertThat(cluster.fleet().runningOf("Job/team-a/train")).hasSize(1);
    assertThat(cluster.fleet().runningOf("Job/team-a/eval")).hasSize(1);
    assertThat(cluster.slices())
        .extracting(slice -> slice.annotations().get(TpuLabels.OWN_REQUEST))
        .containsExactly("Job/team-a/eval", "Job/team-a/train");
  }

  @Test
  void jobsOfAMultisliceRunInASliceEach() {
    cubes("blk-a", "c1", "c2", "c3");
    gke.add(jobSet("ms", "4x4x4", 2, 16));
    settle(loop);
    Map<String, String> running = gke.running("team-a");
    assertThat(running).hasSize(32);
    Map<String, Set<String>> slices = new TreeMap<>();
    running.forEach(
        (pod, node) ->
            slices
                .computeIfAbsent(pod.substring(0, "ms-workers-0".length()), p -> new TreeSet<>())
                .add(label(node, Tpu7xNodes.SLICE)));
    assertThat(slices).hasSize(2).allSatisfy((job, names) -> assertThat(names).hasSize(1));
    assertThat(new HashSet<>(slices.values())).hasSize(2);
  }

  @Test
  void smallSlicesShareOneCubeAndLeaveTheOthersWhole() {
    cubes("blk-a", "c1", "c2");
    for (int i = 0; i < 4; i++) {
      gke.add(job("eval-" + i, "2x2x4", 4));
    }
    gke.add(job("train", "4x4x4", 16));
    settle(loop);
    assertThat(gke.running("team-a")).hasSize(32);
    assertThat(gke.states().values()).containsOnly("ACTIVE").hasSize(5);
  }

  @Test
  @DisplayName("xpk#515: a Slice was created though there was no place for its work")
  void xpk515_noSliceIsCreatedForWorkThatFindsNoPlaceAndItIsToldWhy() {
    cubes("blk-a", "c1", "c2");
    gke.add(job("first", "2x2x1", 1));
    settle(loop);
    gke.add(job("train", "4x4x8", 32));
    settle(loop);
    assertThat(gke.slices()).hasSize(1);
    List<Event> events = events("train");
    assertThat(events).hasSize(1);
    assertThat(events.get(0).getType()).isEqualTo("Normal");
    assertThat(events.get(0).getMessage())
        .contains("needs 2 of 2 cubes in block/blk-a for 4x4x8; 1 is free");
  }

  @Test
  @DisplayName("marin#3402: a job that can never be scheduled, and nobody says so")
  void marin3402_workThatCanNeverRunIsToldSoAtOnce() {
    cubes("blk-a", "c1", "c2");
    cubes("blk-b", "d1");
    gke.add(job("train", "4x4x12", 48));
    settle(loop);
    List<Event> events = events("train");
    assertThat(events).hasSize(1);
    assertThat(events.get(0).getType()).isEqualTo("Warning");
    assertThat(events.get(0).getReason()).startsWith("Never");
  }

  private List<Event> events(String job) {
    List<Event> events =
        new ArrayList<>(client.v1().events().inNamespace("team-a").list().getItems());
    events.removeIf(event -> !event.getInvolvedObject().getName().equals(job));
    return events;
  }

  @Test
  void sayingTheSameAgainWritesNothing() {
    cubes("blk-a", "c1");
    gke.add(job("train", "4x4x8", 32));
    settle(loop);
    int writes = gke.writes().size();
    settle(loop);
    loop.round();
    assertThat(gke.writes()).hasSize(writes);
  }

  // ---- failures

  @Test
  void aNodeThatIsNotReadyForAMomentMovesNothing() {
    cubes("blk-a", "c1", "c2");
    InstantSource[] now = {clock};
    SchedulerLoop patient =
        new SchedulerLoop(gke.connect(), () -> now[0].instant(), Duration.ofMinutes(5));
    gke.add(job("train", "4x4x4", 16));
    settle(patient);
    Map<String, String> slices = gke.states();
    Node node = client.nodes().withName(gke.running("team-a").get("train-3")).get();
    ClusterFixtures.ready(node, "Unknown");
    client.nodes().resource(node).updateStatus();
    patient.resync();
    patient.round();
    assertThat(gke.states()).as("at once").isEqualTo(slices);

    now[0] = InstantSource.fixed(clock.instant().plus(Duration.ofMinutes(5)));
    assertThat(patient.round()).as("after five minutes").isNotEmpty();
  }

  @Test
  @DisplayName("xpk#685: after a slice has failed its work is tried again, on other partitions")
  void xpk685_workOfAFailedSliceRunsElsewhere() {
    cubes("blk-a", "c1", "c2", "c3");
    gke.add(job("train", "4x4x8", 32));
    settle(loop);
    String failed = gke.running("team-a").get("train-3");
    gke.failNode(failed);
    settle(loop);
    assertThat(gke.states().values())
        .as("the failed one is cleared away")
        .containsExactly("ACTIVE");
    assertThat(gke.running("team-a")).hasSize(32).doesNotContainValue(failed);
    assertThat(gke.running("team-a").values()).hasSameElementsAs(nodesOf(gke.slices().get(0)));
  }

  @Test
  @DisplayName("xpk#1135: a slice points to the old partition after its work was placed anew")
  void xpk1135_podsCarryTheEpochOfTheSliceTheyRunOn() {
    cubes("blk-a", "c1", "c2");
    gke.add(job("train", "4x4x4", 16));
    settle(loop);
    String before = epochOfPods();
    gke.failNode(gke.running("team-a").get("train-0"));
    settle(loop);
    assertThat(epochOfPods())
        .isNotEqualTo(before)
        .isEqualTo(gke.slices().get(0).getMetadata().getAnnotations().get(TpuLabels.OWN_EPOCH));
  }

  @Test
  void aNodeThatFailsWhereNothingElseIsFreeIsWaitedFor() {
    cubes("blk-a", "c1");
    gke.add(job("train", "4x4x4", 16));
    settle(loop);
    String failed = gke.running("team-a").get("train-0");
    gke.failNode(failed);
    settle(loop);
    assertThat(gke.running("team-a")).isEmpty();
    gke.healNode(failed);
    settle(loop);
    assertThat(gke.running("team-a")).hasSize(16);
  }

  @Test
  void aSliceThatSomebodyDeletesIsMadeAgainOnceItIsGone() {
    cubes("blk-a", "c1");
    gke.add(job("train", "4x4x4", 16));
    settle(loop);
    String name = gke.slices().get(0).getMetadata().getName();
    String uid = gke.slices().get(0).getMetadata().getUid();
    client.genericKubernetesResources(FakeGke.SLICE).withName(name).delete();
    settle(loop);
    assertThat(gke.states()).isEqualTo(Map.of(name, "ACTIVE"));
    assertThat(gke.slices().get(0).getMetadata().getUid()).isNotEqualTo(uid);
    assertThat(gke.running("team-a")).hasSize(16);
  }

  @Test
  void whatIsDoneMakesRoomForWhatWaits() {
    cubes("blk-a", "c1");
    gke.add(job("first", "4x4x4", 16));
    settle(loop);
    gke.add(job("second", "4x4x4", 16));
    settle(loop);
    assertThat(gke.running("team-a").keySet()).allMatch(pod -> pod.startsWith("first-"));
    gke.finish("team-a", "first");
    settle(loop);
    assertThat(gke.running("team-a")).hasSize(16);
    assertThat(gke.running("team-a").keySet()).allMatch(pod -> pod.startsWith("second-"));
    assertThat(gke.slices()).hasSize(1);
  }

  // ---- several schedulers, and other writers

  @Test
  @DisplayName("kueue#14570: two decisions made at once give one node to two workloads")
  void twoSchedulersAtOnceCreateTheSameObjects() {
    cubes("blk-a", "c1", "c2", "c3", "c4");
    gke.add(job("train", "4x4x8", 32));
    gke.add(job("eval", "2x4x4", 8));
    SchedulerLoop other = new SchedulerLoop(gke.connect(), clock, Duration.ZERO);
    loop.resync();
    other.resync(); // both have seen the same and know nothing of each other
    loop.round();
    List<GenericKubernetesResource> created = gke.slices();
    other.round();
    assertThat(created).hasSize(2);
    assertThat(gke.slices()).isEqualTo(created);
    settle(loop, other);
    assertThat(gke.running("team-a")).hasSize(40);
    assertThat(gke.states().values()).containsExactly("ACTIVE", "ACTIVE");
  }

  @Test
  void aLeaderThatDiesAtAnyPointLeavesNothingUndone() {
    List<GenericKubernetesResource> expected = null;
    for (int rounds = 0; rounds < 6; rounds++) {
      try (FakeGke cluster = new FakeGke()) {
        cluster.addCube("blk-a", "c1");
        cluster.addCube("blk-a", "c2");
        cluster.add(job("train", "4x4x8", 32));
        SchedulerLoop first = new SchedulerLoop(cluster.connect(), clock, Duration.ZERO);
        for (int i = 0; i < rounds; i++) {
          first.resync();
          first.round();
          cluster.tick();
        }
        settle(cluster, new SchedulerLoop(cluster.connect(), clock, Duration.ZERO));
        assertThat(cluster.running("team-a")).as("after %s rounds", rounds).hasSize(32);
        List<GenericKubernetesResource> specs =
            cluster.slices().stream().map(LiveClusterTest::content).collect(Collectors.toList());
        expected = expected == null ? specs : expected;
        assertThat(specs).as("after %s rounds", rounds).isEqualTo(expected);
      }
    }
  }

  @Test
  void ofTwoSchedulersThatDisagreeOneIsRightAndAllRunsInTheEnd() {
    cubes("blk-a", "c1", "c2");
    SchedulerLoop stale = new SchedulerLoop(gke.connect(), clock, Duration.ZERO);
    gke.add(job("one", "4x4x4", 16));
    stale.resync(); // sees one alone
    client.batch().v1().jobs().inNamespace("team-a").withName("one").delete();
    gke.add(job("two", "4x4x4", 16));
    loop.resync(); // sees two alone
    loop.round();
    gke.add(job("one", "4x4x4", 16));
    stale.round();
    List<Object> cubes = new ArrayList<>();
    gke.slices().forEach(slice -> cubes.add(slice.get("spec", "partitionIds")));
    assertThat(cubes).hasSize(2);
    assertThat(cubes.get(0)).as("both took the same cube").isEqualTo(cubes.get(1));
    settle(loop, stale);
    assertThat(gke.states().values()).containsExactly("ACTIVE", "ACTIVE");
    assertThat(gke.running("team-a")).hasSize(32);
  }

  @Test
  void aConflictIsTriedAgainWithTheVersionThatIsThere() {
    cubes("blk-a", "c1");
    gke.add(job("train", "4x4x4", 16));
    loop.resync();
    loop.round();
    gke.settle();
    gke.writeBetween(JOBS + "train");
    loop.resync();
    loop.round();
    long patches = gke.writes().stream().filter(("PATCH " + JOBS + "train")::equals).count();
    Job patched = client.batch().v1().jobs().inNamespace("team-a").withName("train").get();
    assertThat(patched.getMetadata().getAnnotations()).containsKey("example.com/touched");
    assertThat(patched.getSpec().getTemplate().getSpec().getNodeSelector())
        .containsEntry(Tpu7xNodes.SLICE, gke.slices().get(0).getMetadata().getName());
    assertThat(patched.getSpec().getSuspend()).isFalse();
    assertThat(patches).as("patch, patch again, resume").isEqualTo(3);
  }

  @Test
  void anEventThatIsRefusedStopsNothingAndIsSaidLater() {
    String path = "/api/v1/namespaces/team-a/events";
    gke.refuse(path);
    cubes("blk-a", "c1");
    gke.add(job("train", "4x4x4", 16));
    gke.add(job("more", "4x4x8", 32));
    settle(loop);
    assertThat(gke.running("team-a")).hasSize(16);
    assertThat(events("more")).isEmpty();
    gke.accept(path);
    settle(loop);
    assertThat(events("more")).hasSize(1);
  }

  @Test
  void aJobSetThatCannotBeMadeAnewYetDoesNotHoldUpOthers() {
    String path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets";
    cubes("blk-a", "c1", "c2", "c3");
    gke.add(jobSet("ms", "4x4x4", 2, 16));
    gke.refuse(path);
    for (int i = 0; i < 10; i++) {
      loop.resync();
      loop.round();
      gke.tick();
    }
    gke.add(job("train", "2x2x1", 1));
    for (int i = 0; i < 10; i++) {
      loop.resync();
      loop.round();
      gke.tick();
    }
    assertThat(gke.running("team-a")).containsOnlyKeys("train-0");
    gke.accept(path);
    settle(loop);
    assertThat(gke.running("team-a")).hasSize(33);
  }

  @Test
  void workThatHasChangedSinceIsNotPatchedButPlannedAnew() {
    cubes("blk-a", "c1", "c2");
    gke.add(job("train", "4x4x4", 16));
    loop.resync();
    loop.round();
    gke.settle();
    loop.resync();
    client
        .batch()
        .v1()
        .jobs()
        .inNamespace("team-a")
        .withName("train")
        .patch(PatchContext.of(PatchType.JSON_MERGE), "{\"spec\":{\"backoffLimit\":7}}");
    loop.round();
    Job job = client.batch().v1().jobs().inNamespace("team-a").withName("train").get();
    assertThat(job.getSpec().getSuspend()).as("left alone").isTrue();
    settle(loop);
    assertThat(gke.running("team-a")).hasSize(16);
  }

  @Test
  void whatALeaderHasDoneItDoesNotDoAgainBeforeItHasReadIt() {
    cubes("blk-a", "c1");
    Job awake = job("train", "4x4x4", 16);
    awake.getSpec().setSuspend(false);
    gke.add(awake);
    loop.resync();
    loop.round();
    gke.settle();
    loop.resync();
    assertThat(loop.round()).as("suspended, patched, resumed").hasSize(3);
    gke.settle();
    assertThat(gke.running("team-a")).hasSize(16);
    loop.round(); // the watch lags
    gke.settle();
    assertThat(gke.running("team-a")).hasSize(16);
    assertThat(gke.writes()).filteredOn(("PATCH " + JOBS + "train")::equals).hasSize(3);
  }

  @Test
  void withWatchesNothingIsListedAgain() throws InterruptedException {
    cubes("blk-a", "c1", "c2");
    loop.resync();
    loop.watch();
    gke.add(job("train", "4x4x8", 32));
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (gke.running("team-a").size() < 32) {
      assertThat(System.nanoTime()).as("does not come to run").isLessThan(until);
      loop.round();
      gke.tick();
    }
    assertThat(gke.states().values()).containsExactly("ACTIVE");
  }

  @Test
  void theLoopRunsByItselfUntilItIsInterrupted() throws InterruptedException {
    cubes("blk-a", "c1", "c2");
    Thread thread = new Thread(loop::run, "scheduler");
    thread.start();
    gke.add(job("train", "4x4x8", 32));
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (gke.running("team-a").size() < 32) {
      assertThat(System.nanoTime()).as("does not come to run").isLessThan(until);
      gke.tick();
    }
    thread.interrupt();
    thread.join(TimeUnit.SECONDS.toMillis(SECONDS));
    assertThat(thread.isAlive()).isFalse();
  }

  // ---- anything in any order

  private static final Map<String, Integer> SHAPES =
      new TreeMap<>(Map.of("2x2x1", 1, "2x2x4", 4, "2x4x4", 8, "4x4x4", 16, "4x4x8", 32));

  /** Two leaders at once, each with its own and mostly stale idea of a cluster that fails a lot. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void whateverHappensNothingHealthyIsDisturbedAndAllComesToRest(long seed) {
    comesToRest(new Random(seed), 40);
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28})
  @Tag("slow")
  void whateverHappensForLongAllComesToRest(long seed) {
    comesToRest(new Random(seed), 200);
  }

  private void comesToRest(Random random, int events) {
    cubes("blk-a", "c1", "c2");
    cubes("blk-b", "d1", "d2");
    List<SchedulerLoop> loops =
        List.of(loop, new SchedulerLoop(gke.connect(), clock, Duration.ZERO));
    List<String> nodes = gke.nodes().stream().map(node -> node.getMetadata().getName()).toList();
    Set<String> failed = new TreeSet<>();
    List<String> trace = new ArrayList<>();
    for (int i = 0; i < events; i++) {
      Map<String, Long> sound = soundJobs();
      String disturbed = null; // by us
      trace.add("event " + i);
      switch (random.nextInt(12)) {
        case 0, 1 -> {
          String shape = pick(random, List.copyOf(SHAPES.keySet()));
          gke.add(job("job-" + i, shape, SHAPES.get(shape)));
        }
        case 2 -> {
          if (failed.size() < 3) {
            String node = pick(random, nodes);
            disturbed = slice(node);
            gke.failNode(node);
            failed.add(node);
            trace.add(node + " fails");
          }
        }
        case 3 -> {
          if (!failed.isEmpty()) {
            String node = pick(random, List.copyOf(failed));
            gke.healNode(node);
            failed.remove(node);
            trace.add(node + " is healed");
          }
        }
        case 4 -> {
          if (!sound.isEmpty()) {
            disturbed = pick(random, List.copyOf(sound.keySet()));
            gke.finish("team-a", disturbed);
            trace.add(disturbed + " is done");
          }
        }
        case 5 -> {
          List<GenericKubernetesResource> slices = gke.slices();
          if (!slices.isEmpty() && random.nextInt(3) == 0) {
            disturbed = pick(random, slices).getMetadata().getName();
            client.genericKubernetesResources(FakeGke.SLICE).withName(disturbed).delete();
            trace.add(disturbed + " is deleted");
          }
        }
        case 6, 7 -> {
          int leader = random.nextInt(2);
          loops.get(leader).resync();
          trace.add("leader " + leader + " reads all");
        }
        case 8, 9 -> {
          int leader = random.nextInt(2);
          trace.add("leader " + leader + ": " + loops.get(leader).round());
        }
        default -> {
          sound.keySet().retainAll(onSoundSlices()); // those that fail now were doomed before
          trace.add("platform: " + gke.tick());
        }
      }
      if (disturbed == null) {
        assertThat(soundJobs()).as("%s", trace).containsAllEntriesOf(sound);
      }
    }
    failed.forEach(gke::healNode);
    settle(loops.toArray(SchedulerLoop[]::new));

    assertThat(gke.states().values()).as("no Slice is left that failed").allMatch("ACTIVE"::equals);
    assertThat(soundJobs()).hasSameSizeAs(gke.states().keySet());
    Cluster cluster = ClusterReader.create().read(all());
    Plan plan =
        SlicePlanner.create()
            .plan(cluster.fleet(), cluster.requests(), SolveBudget.within(Duration.ofSeconds(5)));
    assertThat(plan.placements()).as("nothing waits that has room").isEmpty();
  }

  private static <T> T pick(Random random, List<T> from) {
    return from.get(random.nextInt(from.size()));
  }

  /** Jobs all of whose pods run, and how many. */
  private Map<String, Long> soundJobs() {
    Map<String, Long> pods =
        gke.running("team-a").keySet().stream()
            .collect(
                Collectors.groupingBy(
                    pod -> pod.substring(0, pod.lastIndexOf('-')),
                    TreeMap::new,
                    Collectors.counting()));
    return pods;
  }

  /** Jobs all of whose pods are on a Slice that is neither about to fail nor to go. */
  private Set<String> onSoundSlices() {
    Map<String, Node> nodes = new TreeMap<>();
    gke.nodes().forEach(node -> nodes.put(node.getMetadata().getName(), node));
    Set<String> lost = new TreeSet<>();
    for (GenericKubernetesResource slice : gke.slices()) {
      boolean ready = nodesOf(slice).stream().allMatch(node -> FakeGke.isReady(nodes.get(node)));
      if (!ready || slice.isMarkedForDeletion()) {
        lost.add(slice.getMetadata().getName());
      }
    }
    Set<String> sound = soundJobs().keySet();
    gke.running("team-a")
        .forEach(
            (pod, node) -> {
              if (lost.contains(nodes.get(node).getMetadata().getLabels().get(Tpu7xNodes.SLICE))) {
                sound.remove(pod.substring(0, pod.lastIndexOf('-')));
              }
            });
    return sound;
  }

  private String slice(String node) {
    return label(node, Tpu7xNodes.SLICE);
  }

  // ---- what the tests share

  private void cubes(String block, String... cubes) {
    for (String cube : cubes) {
      gke.addCube(block, cube);
    }
  }

  private void settle(SchedulerLoop... loops) {
    settle(gke, loops);
  }

  /** Rounds and ticks until neither schedulers nor the platform have anything to do. */
  private static void settle(FakeGke gke, SchedulerLoop... loops) {
    List<String> last = List.of();
    for (int i = 0; i < MANY_ROUNDS; i++) {
      List<String> done = new ArrayList<>();
      for (SchedulerLoop each : loops) {
        each.resync();
        done.addAll(each.round());
      }
      done.addAll(gke.tick());
      if (done.isEmpty()) {
        return;
      }
      last = done;
    }
    throw new AssertionError("does not come to rest: " + last);
  }

  private List<HasMetadata> all() {
    List<HasMetadata> all = new ArrayList<>(gke.nodes());
    all.addAll(gke.slices());
    all.addAll(client.pods().inAnyNamespace().list().getItems());
    all.addAll(client.batch().v1().jobs().inAnyNamespace().list().getItems());
    return all;
  }

  private String label(String node, String key) {
    return client.nodes().withName(node).get().getMetadata().getLabels().get(key);
  }

  private List<String> nodesOf(GenericKubernetesResource slice) {
    return gke.nodes().stream()
        .map(Node::getMetadata)
        .filter(
            node -> slice.getMetadata().getName().equals(node.getLabels().get(Tpu7xNodes.SLICE)))
        .map(node -> node.getName())
        .toList();
  }

  private Set<String> blocks(Map<String, String> running) {
    Set<String> blocks = new TreeSet<>();
    running.values().forEach(node -> blocks.add(label(node, Tpu7xNodes.BLOCK)));
    return blocks;
  }

  private String epochOfPods() {
    Set<String> epochs =
        client.pods().inNamespace("team-a").list().getItems().stream()
            .map(pod -> pod.getMetadata().getAnnotations().get(TpuLabels.OWN_EPOCH))
            .collect(Collectors.toSet());
    assertThat(epochs).hasSize(1);
    return epochs.iterator().next();
  }

  private static GenericKubernetesResource content(GenericKubernetesResource slice) {
    GenericKubernetesResource content = new GenericKubernetesResource();
    content.setKind(slice.getMetadata().getName());
    content.setAdditionalProperty("spec", slice.get("spec"));
    content.setAdditionalProperty("annotations", slice.getMetadata().getAnnotations());
    return content;
  }
}
