package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.ManifestTree.Flaw;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.NullNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.node.StringNode;
import tools.jackson.databind.type.LogicalType;

/**
 * Makes fabric8's objects of trees, as strict about types as the API server. Immutable, safe to
 * share.
 *
 * <p>Only a scalar where a string belongs is read all the same, as the text written, because its
 * meaning is beyond doubt; it is a problem nevertheless. Any other wrong type leaves the object
 * out. All problems of an object are found by mending one after the other in a copy: at most 100,
 * each at the price of one conversion.
 */
final class ManifestConverter {

  /** Problems looked for in one object. */
  static final int MOST_PROBLEMS = 100;

  private static final Map<String, Class<? extends HasMetadata>> TYPED =
      Map.of(
          "v1/Node", Node.class,
          "v1/Pod", Pod.class,
          "v1/ConfigMap", ConfigMap.class,
          "batch/v1/Job", Job.class);

  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
          .withCoercionConfig(
              LogicalType.Textual,
              strings ->
                  strings
                      .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                      .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
          .build();

  private ManifestConverter() {}

  /**
   * Makes an object.
   *
   * @param apiVersion of the object
   * @param kind of the object
   * @param tree the object
   * @param problems told each wrong field
   * @return the object, or null if it is to be left out
   */
  static @Nullable HasMetadata convert(
      String apiVersion, String kind, ObjectNode tree, Consumer<Flaw> problems) {
    Class<? extends HasMetadata> type =
        TYPED.getOrDefault(apiVersion + "/" + kind, GenericKubernetesResource.class);
    ObjectNode current = tree;
    boolean isCopy = false;
    boolean sound = true;
    for (int found = 0; found < MOST_PROBLEMS; found++) {
      RuntimeException failure;
      try {
        HasMetadata object = MAPPER.treeToValue(current, type);
        return sound ? object : null;
      } catch (RuntimeException e) {
        // Jackson's own exceptions, and whatever fabric8's setters and creators throw.
        failure = e;
      }
      List<Object> steps = steps(failure);
      JsonNode wrong = at(current, steps);
      boolean isString = isMeantAsString(failure, wrong);
      sound &= isString;
      problems.accept(new Flaw(FieldPath.of(steps), message(failure, wrong, isString)));
      if (steps.isEmpty() || wrong == null || wrong.isNull()) {
        return null;
      }
      if (!isCopy) {
        current = tree.deepCopy();
        isCopy = true;
      }
      replace(
          current,
          steps,
          isString ? StringNode.valueOf(ManifestScalars.written(wrong)) : NullNode.getInstance());
    }
    return null;
  }

  private static List<Object> steps(RuntimeException failure) {
    List<Object> steps = new ArrayList<>();
    if (failure instanceof JacksonException e) {
      for (JacksonException.Reference reference : e.getPath()) {
        String name = reference.getPropertyName();
        steps.add(name == null ? (Object) reference.getIndex() : name);
      }
    }
    return steps;
  }

  private static @Nullable JsonNode at(JsonNode root, List<Object> steps) {
    JsonNode node = root;
    for (Object step : steps) {
      node =
          node == null ? null : step instanceof Integer i ? node.get(i) : node.get((String) step);
    }
    return node;
  }

  private static void replace(ObjectNode root, List<Object> steps, JsonNode value) {
    int last = steps.size() - 1;
    JsonNode parent = at(root, steps.subList(0, last));
    if (parent instanceof ArrayNode list) {
      list.set((Integer) steps.get(last), value);
    } else if (parent instanceof ObjectNode mapping) {
      mapping.set((String) steps.get(last), value);
    }
  }

  private static boolean isMeantAsString(RuntimeException failure, @Nullable JsonNode wrong) {
    return wrong != null
        && (wrong.isNumber() || wrong.isBoolean())
        && failure instanceof MismatchedInputException e
        && e.getTargetType() == String.class;
  }

  private static String message(
      RuntimeException failure, @Nullable JsonNode wrong, boolean isString) {
    String given = wrong == null ? "" : ", got " + Shown.of(wrong);
    if (isString) {
      return "expected a string" + given + "; quote it (it is read as the text written)";
    }
    Class<?> type = failure instanceof MismatchedInputException e ? e.getTargetType() : null;
    if (type != null) {
      return "expected " + shown(type) + given + "; the object is left out";
    }
    if (wrong != null && wrong.isContainer()) {
      return "expected a string or number" + given + "; the object is left out";
    }
    String said =
        failure instanceof JacksonException e ? e.getOriginalMessage() : failure.toString();
    return "not readable"
        + given
        + ": "
        + Shown.abbreviated(String.valueOf(said), 200)
        + "; the object is left out";
  }

  private static String shown(Class<?> type) {
    if (type == String.class) {
      return "a string";
    } else if (type == Boolean.class || type == boolean.class) {
      return "true or false";
    } else if (type == Integer.class || type == Long.class) {
      return "a whole number";
    } else if (type == Double.class || type == Float.class) {
      return "a number";
    } else if (Collection.class.isAssignableFrom(type)) {
      return "a list";
    } else {
      return "a mapping";
    }
  }
}
