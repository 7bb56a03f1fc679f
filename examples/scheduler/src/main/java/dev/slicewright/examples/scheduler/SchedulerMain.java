package dev.slicewright.examples.scheduler;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.InstantSource;
import java.util.UUID;

/**
 * Runs {@link SchedulerLoop} while it holds a lease, so that of several replicas one works and the
 * others stand by. That saves work and noise; nothing depends on it, since a lease cannot rule out
 * that two lead for a moment.
 */
public final class SchedulerMain {

  private static final String NAME = "slicewright-scheduler";
  private static final Duration PATIENCE = Duration.ofMinutes(5); // as Kubernetes has with nodes
  private static final System.Logger LOG = System.getLogger(SchedulerMain.class.getName());

  private SchedulerMain() {}

  public static void main(String[] args) {
    String me = UUID.randomUUID().toString();
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      SchedulerLoop loop = new SchedulerLoop(client, InstantSource.system(), PATIENCE);
      LeaderCallbacks callbacks =
          new LeaderCallbacks(
              () -> start(loop),
              () -> System.exit(1), // started anew, it stands by
              leader -> LOG.log(Level.INFO, leader.equals(me) ? "leads" : "stands by"));
      client
          .leaderElector()
          .withConfig(
              new LeaderElectionConfigBuilder()
                  .withName(NAME)
                  .withLock(new LeaseLock(client.getNamespace(), NAME, me))
                  .withLeaseDuration(Duration.ofSeconds(15))
                  .withRenewDeadline(Duration.ofSeconds(10))
                  .withRetryPeriod(Duration.ofSeconds(2))
                  .withLeaderCallbacks(callbacks)
                  .build())
          .build()
          .run();
    }
  }

  /** Who does not schedule must not lead: another does, once this process is gone. */
  private static void start(SchedulerLoop loop) {
    Thread thread = new Thread(loop::run, NAME);
    thread.setUncaughtExceptionHandler(
        (dead, why) -> {
          LOG.log(Level.ERROR, "the scheduler has failed", why);
          System.exit(1);
        });
    thread.start();
  }
}
