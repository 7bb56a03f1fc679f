package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Whatever changes, in whatever order: an update gives what a fresh read gives. */
class ClusterUpdatePropertiesTest {

  private static final ClusterReader LENIENT = ClusterReader.builder().lenient(true).build();
  private static final List<String> STATES =
      List.of("HEALTHY", "HEALTHY", "DEGRADED", "UNHEALTHY", "ODD");
  private static final List<String> REASONS =
      List.of("ACTIVE", "ACTIVATING", "FAILED", "SliceCreationFailed", "DEACTIVATING");

  /** A cluster and its objects, which change. */
  private static final class Site {
    final Random random;
    final Map<ObjectRef, HasMetadata> objects = new TreeMap<>();
    final Map<ObjectRef, HasMetadata> changed = new TreeMap<>();
    final TreeSet<ObjectRef> gone = new TreeSet<>();
    int next;

    Site(long seed) {
      random = new Random(seed);
      List<Node> block = ClusterFixtures.block("a", 2);
      ClusterFixtures.fill(block, "a", 0.6, seed).forEach(this::add);
      block.forEach(this::add);
      ClusterFixtures.block("b", 1).forEach(this::add);
      ClusterFixtures.subslicing("v6e", "4x4").forEach(this::add);
      ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x4").forEach(this::add);
      ClusterFixtures.pool("v5e", "tpu-v5-lite-podslice", "2x2").forEach(this::add);
      add(ClusterFixtures.plain("cpu"));
      ClusterFixtures.waiting(2, seed).forEach(this::add);
      add(ClusterFixtures.job("team-b", "probe", "tpu-v5p-slice", "2x2x4", 1));
      changed.clear();
    }

    void add(HasMetadata object) {
      ObjectRef ref = ObjectRef.of(object);
      objects.put(ref, object);
      changed.put(ref, object);
      gone.remove(ref);
    }

    void remove(ObjectRef ref) {
      objects.remove(ref);
      changed.remove(ref);
      gone.add(ref);
    }

    <T extends HasMetadata> T any(Class<T> type, String kind) {
      List<T> all =
          objects.values().stream()
              .filter(type::isInstance)
              .filter(o -> o.getKind().equals(kind))
              .map(type::cast)
              .toList();
      return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
    }

    <T> T one(List<T> of) {
      return of.get(random.nextInt(of.size()));
    }

    void change() {
      Node node = any(Node.class, "Node");
      Map<String, String> labels = node.getMetadata().getLabels();
      switch (random.nextInt(15)) {
        case 0 -> ClusterFixtures.ready(node, one(List.of("True", "False", "Unknown")));
        case 1 -> node.getSpec().setUnschedulable(random.nextBoolean());
        case 2 -> ClusterFixtures.taint(node, "example.com/t", "v", "NoSchedule");
        case 3 -> node.getSpec().setTaints(new ArrayList<>());
        case 4, 5, 6 -> {
          List<String> keys =
              labels.keySet().stream().filter(k -> k.endsWith(TpuLabels.STATE_SUFFIX)).toList();
          if (!keys.isEmpty()) {
            labels.put(one(keys), one(STATES));
          }
        }
        case 7 -> {
          // Something of its place: to another's, or gone.
          String key = one(List.copyOf(labels.keySet()));
          String other = any(Node.class, "Node").getMetadata().getLabels().get(key);
          if (other == null) {
            labels.remove(key);
          } else {
            labels.put(key, other);
          }
        }
        case 8 -> {
          remove(ObjectRef.of(node));
          return;
        }
        case 9 -> {
          List<Node> fresh = ClusterFixtures.block(one(List.of("a", "b")), 1);
          add(one(fresh));
          return;
        }
        case 10 -> {
          GenericKubernetesResource slice =
              ClusterFixtures.slice(
                  "s" + next++, "2x2x4", one(REASONS), List.of("a-c1-q" + random.nextInt(4)));
          add(slice);
          return;
        }
        case 11 -> {
          GenericKubernetesResource slice = any(GenericKubernetesResource.class, "Slice");
          if (slice != null && random.nextBoolean()) {
            remove(ObjectRef.of(slice));
          } else if (slice != null) {
            slice.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
            add(slice);
          }
          return;
        }
        case 12 -> {
          Pod pod = any(Pod.class, "Pod");
          if (pod != null) {
            remove(ObjectRef.of(pod));
          }
          return;
        }
        case 13 -> {
          Job job = any(Job.class, "Job");
          if (job != null && random.nextBoolean()) {
            remove(ObjectRef.of(job));
          } else {
            add(
                ClusterFixtures.job(
                    "t", "new-" + next++, "tpu7x", one(List.of("4x4x4", "2x2x2")), 3));
          }
          return;
        }
        default -> {
          Job job = (Job) objects.get(new ObjectRef("batch/v1", "Job", "team-b", "probe"));
          if (job != null) {
            int index = random.nextInt(4);
            add(ClusterFixtures.podOf(job, index, "v5p-" + index));
          }
          return;
        }
      }
      add(node);
    }
  }

  @Property(tries = 60)
  void anUpdateGivesWhatAFreshReadGives(@ForAll long seed) {
    Site site = new Site(seed);
    Cluster cluster = LENIENT.read(List.copyOf(site.objects.values()));
    for (int round = 0; round < 12; round++) {
      site.changed.clear();
      site.gone.clear();
      int changes = 1 + site.random.nextInt(4);
      for (int i = 0; i < changes; i++) {
        site.change();
      }
      cluster = cluster.update(List.copyOf(site.changed.values()), List.copyOf(site.gone));

      Cluster fresh = LENIENT.read(List.copyOf(site.objects.values()));
      assertThat(ClusterText.of(cluster)).isEqualTo(ClusterText.of(fresh));
      assertThat(cluster.fleet()).isEqualTo(fresh.fleet());
      assertThat(cluster.requests()).isEqualTo(fresh.requests());
      assertThat(cluster.workloads()).isEqualTo(fresh.workloads());
      assertThat(cluster.failures()).isEqualTo(fresh.failures());
      assertThat(cluster.stalePods()).isEqualTo(fresh.stalePods());
    }
  }
}
