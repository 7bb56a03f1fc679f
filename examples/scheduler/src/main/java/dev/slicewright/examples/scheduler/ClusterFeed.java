package dev.slicewright.examples.scheduler;

import static dev.slicewright.examples.scheduler.ClusterWriter.KINDS;

import dev.slicewright.kubernetes.ObjectRef;
import dev.slicewright.kubernetes.TpuLabels;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.FilterWatchListDeletable;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the API server has: listed whole, or heard of since. Safe for concurrent use: watches run on
 * threads of the client.
 */
final class ClusterFeed {

  /** Objects new or changed, and names of those that are gone. Immutable. */
  record News(List<HasMetadata> changed, List<ObjectRef> gone) {}

  private static final Duration MOMENT = Duration.ofMillis(200);

  private final KubernetesClient client;
  private final Map<ObjectRef, HasMetadata> news = new LinkedHashMap<>(); // null: gone; own lock

  ClusterFeed(KubernetesClient client) {
    this.client = client;
  }

  private List<
          FilterWatchListDeletable<
              ? extends HasMetadata, ? extends KubernetesResourceList<? extends HasMetadata>, ?>>
      sources() {
    return List.of(
        client.nodes(),
        client.pods().inAnyNamespace(),
        client.batch().v1().jobs().inAnyNamespace(),
        client.scheduling().v1().priorityClasses(),
        client.configMaps().inAnyNamespace().withLabel(TpuLabels.OWN_HOLD),
        client.genericKubernetesResources(KINDS.get("Slice")),
        client.genericKubernetesResources(KINDS.get("JobSet")).inAnyNamespace(),
        client.genericKubernetesResources(KINDS.get("LeaderWorkerSet")).inAnyNamespace());
  }

  /** All objects that the scheduler reads. */
  List<HasMetadata> list() {
    List<HasMetadata> objects = new ArrayList<>();
    for (var source : sources()) { // a CRD that is not installed is no error
      ClusterWriter.unless(ClusterWriter.NOT_FOUND, () -> objects.addAll(source.list().getItems()));
    }
    return objects;
  }

  /** From now on changes come by themselves. */
  void watch() {
    ResourceEventHandler<HasMetadata> handler =
        new ResourceEventHandler<>() {
          @Override
          public void onAdd(HasMetadata object) {
            hear(object, object);
          }

          @Override
          public void onUpdate(HasMetadata before, HasMetadata object) {
            hear(object, object);
          }

          @Override
          public void onDelete(HasMetadata object, boolean unknown) {
            hear(object, null);
          }
        };
    for (var source : sources()) {
      ClusterWriter.unless(ClusterWriter.NOT_FOUND, () -> source.inform(handler) != null);
    }
  }

  private void hear(HasMetadata object, HasMetadata is) {
    synchronized (news) {
      news.put(ObjectRef.of(object), is);
      news.notifyAll();
    }
  }

  /** What has arrived since this was last asked. */
  News take() {
    List<HasMetadata> changed = new ArrayList<>();
    List<ObjectRef> gone = new ArrayList<>();
    synchronized (news) {
      news.forEach(
          (ref, is) -> {
            if (is == null) {
              gone.add(ref);
            } else {
              changed.add(is);
            }
          });
      news.clear();
    }
    return new News(List.copyOf(changed), List.copyOf(gone));
  }

  /** Until something has changed, or so long; a moment at least, since changes come in swarms. */
  void await(Duration most) {
    try {
      Thread.sleep(MOMENT.toMillis());
      synchronized (news) {
        if (news.isEmpty()) {
          news.wait(most.toMillis());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
