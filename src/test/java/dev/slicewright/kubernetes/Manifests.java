package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.MappingIterator;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** Objects from YAML: Pods and Jobs as a client gives them, others as generic resources. */
final class Manifests {

  private static final YAMLMapper MAPPER = new YAMLMapper();

  private Manifests() {}

  static List<HasMetadata> read(String yaml) {
    List<HasMetadata> objects = new ArrayList<>();
    try (MappingIterator<Map<String, Object>> documents =
        MAPPER.readerFor(Map.class).readValues(yaml)) {
      while (documents.hasNext()) {
        Map<String, Object> document = documents.next();
        if (document != null) {
          objects.add(MAPPER.convertValue(document, type(document)));
        }
      }
    }
    return objects;
  }

  private static Class<? extends HasMetadata> type(Map<String, Object> document) {
    if ("Pod".equals(document.get("kind")) && "v1".equals(document.get("apiVersion"))) {
      return Pod.class;
    }
    if ("Job".equals(document.get("kind")) && "batch/v1".equals(document.get("apiVersion"))) {
      return Job.class;
    }
    return GenericKubernetesResource.class;
  }
}
