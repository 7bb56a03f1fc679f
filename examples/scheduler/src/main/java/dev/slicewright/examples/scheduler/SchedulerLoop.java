package dev.slicewright.examples.scheduler;

import dev.slicewright.SolveBudget;
import dev.slicewright.kubernetes.Cluster;
import dev.slicewright.kubernetes.ClusterPlan;
import dev.slicewright.kubernetes.ClusterReader;
import dev.slicewright.kubernetes.ClusterStep;
import dev.slicewright.kubernetes.ObjectRef;
import dev.slicewright.kubernetes.SliceManifest;
import dev.slicewright.kubernetes.TpuLabels;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.solve.SlicePlanner;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A scheduler for GKE's dynamic slicing, to start your own from. Confined to one thread at a time;
 * watches run on threads of the client. {@link SchedulerMain} elects a leader and runs it.
 *
 * <p>Each round takes in what has changed, plans, and does what can be done now. What has to wait,
 * such as for a Slice to form or to go, is found again by a later round, so that nothing is lost
 * with this process. A second leader does no harm: the name of a Slice follows from its request and
 * its place, so that equal names are equal Slices; of two that overlap GKE forms one and fails the
 * other, whose work is then placed elsewhere; and a workload is changed only while it is what the
 * plan was made for ({@link ClusterWriter}).
 */
public final class SchedulerLoop {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofMillis(800));
  private static final Duration RESYNC = Duration.ofMinutes(5);
  private static final Duration IDLE = Duration.ofSeconds(10);
  private static final Duration RETRY = Duration.ofSeconds(2);
  private static final System.Logger LOG = System.getLogger(SchedulerLoop.class.getName());

  private final ClusterFeed feed;
  private final InstantSource clock;
  private final ClusterWriter writer;
  private final ClusterReader reader = ClusterReader.builder().lenient(true).build();
  private final SlicePlanner planner = SlicePlanner.create();
  private final Duration patience;
  private Cluster cluster;
  private Instant brokenSince = Instant.MAX;

  /**
   * @param patience how long something that runs has to be broken before it is moved: a node that
   *     is not ready for a moment comes back
   */
  public SchedulerLoop(KubernetesClient client, InstantSource clock, Duration patience) {
    this.feed = new ClusterFeed(client);
    this.clock = clock;
    this.patience = patience;
    this.writer = new ClusterWriter(client);
    this.cluster = reader.read(List.of());
  }

  /** Rounds until the thread is interrupted; now and then everything is read anew. */
  public void run() {
    watch();
    Instant resync = Instant.MIN;
    while (!Thread.currentThread().isInterrupted()) {
      try {
        if (!clock.instant().isBefore(resync)) {
          resync();
          writer.sayAgain(); // events do not last
          resync = clock.instant().plus(RESYNC);
        }
        round();
        feed.await(IDLE);
      } catch (KubernetesClientException e) {
        LOG.log(Level.WARNING, "the next round tries again", e);
        resync = Instant.MIN;
        feed.await(RETRY);
      }
    }
  }

  // ---- in

  /** Reads the whole cluster. */
  public void resync() {
    List<HasMetadata> objects = feed.list();
    objects.forEach(writer::saw);
    cluster = reader.read(objects);
    cluster.problems().forEach(problem -> LOG.log(Level.WARNING, problem.toString()));
  }

  /** From now on changes come by themselves; each round takes in those that have arrived. */
  public void watch() {
    feed.watch();
  }

  private void takeIn() {
    ClusterFeed.News news = feed.take();
    news.changed().forEach(writer::saw);
    news.gone().forEach(writer::forget);
    if (!news.changed().isEmpty() || !news.gone().isEmpty()) {
      cluster = cluster.update(news.changed(), news.gone());
    }
  }

  // ---- plan, and out

  /**
   * One round.
   *
   * @return each step that was tried, and how it went; empty if there was nothing to do
   */
  public List<String> round() {
    takeIn();
    List<String> done = new ArrayList<>();
    for (ObjectRef ref : writer.begin()) {
      attempt("create again " + ref, () -> writer.createAgain(ref), done);
    }
    release(done);
    ClusterPlan plan = ClusterPlan.of(cluster, plan());
    Set<Integer> finished = new HashSet<>();
    for (ClusterStep step : plan.steps()) { // one that has to wait is found again by a later round
      if (finished.containsAll(step.after()) && attempt(step, () -> writer.perform(step), done)) {
        finished.add(step.number());
      }
    }
    for (Event event : plan.events(clock.instant())) {
      attempt("say " + event.getMessage(), () -> writer.say(event), new ArrayList<>());
    }
    done.forEach(line -> LOG.log(Level.INFO, line));
    return done;
  }

  private static boolean attempt(Object what, BooleanSupplier step, List<String> done) {
    try {
      boolean whole = step.getAsBoolean();
      done.add(what + (whole ? "" : ", begun"));
      return whole;
    } catch (KubernetesClientException e) { // what does not come after it goes on
      done.add(what + ", failed: " + e.getMessage());
      return false;
    }
  }

  /** Nothing that runs is touched but to repair it: quotas, moves and evictions are set here. */
  private Plan plan() {
    Instant now = clock.instant();
    PlanningRules rules = cluster.pinned(PlanningRules.builder().now(now).build());
    Plan repair = planner.repair(cluster.fleet(), rules, BUDGET);
    boolean broken = !repair.moves().isEmpty() || !repair.evictions().isEmpty();
    brokenSince = !broken ? Instant.MAX : now.isBefore(brokenSince) ? now : brokenSince;
    return broken && !now.isBefore(brokenSince.plus(patience))
        ? repair // what waits is planned once this is done
        : planner.plan(cluster.fleet(), cluster.requests(), rules, BUDGET);
  }

  /** Deletes Slices whose work is done or gone. */
  private void release(List<String> done) {
    for (SliceManifest slice : cluster.slices()) {
      String request = slice.annotations().getOrDefault(TpuLabels.OWN_REQUEST, "");
      if (!slice.deleting() && cluster.workload(request).isEmpty() && writer.isOver(request)) {
        ObjectRef ref =
            new ObjectRef(SliceManifest.API_VERSION, SliceManifest.KIND, "", slice.name());
        attempt("release " + ref, () -> writer.delete(ref), done);
      }
    }
  }
}
