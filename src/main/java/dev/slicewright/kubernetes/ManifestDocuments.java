package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.ManifestEvents.Kind;
import dev.slicewright.kubernetes.ManifestTree.Flaw;
import dev.slicewright.kubernetes.ManifestTree.Value;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Reads objects of events: each document one object, a list of a kind that ends in {@code List}, or
 * a bare list. Confined to one thread at a time.
 *
 * <p>What follows the first problem in an object is still looked at, so that all of an object's
 * problems are found at once.
 */
final class ManifestDocuments {

  /** Longer names are shown by document: no object has them, and paths shall not be megabytes. */
  private static final int LONGEST_NAME = 253;

  private static final String LIST = "List";

  private final ManifestLimits limits;
  private final ManifestReading before;
  private final ManifestReading reading = new ManifestReading();
  private final boolean streaming;
  private boolean isWrongWay;

  private ManifestDocuments(ManifestLimits limits, ManifestReading before, boolean streaming) {
    this.limits = limits;
    this.before = before;
    this.streaming = streaming;
  }

  /** Makes the events of a part anew. */
  interface Source {
    ManifestEvents events();
  }

  /**
   * Reads a part.
   *
   * @param limits how much
   * @param before what has been read of the text before
   * @param source of events, asked for twice if a document with items proves to be no list
   * @return what was read
   */
  static ManifestReading read(ManifestLimits limits, ManifestReading before, Source source) {
    ManifestDocuments documents = new ManifestDocuments(limits, before, true);
    documents.read(source.events());
    if (documents.isWrongWay) {
      documents = new ManifestDocuments(limits, before, false);
      documents.read(source.events());
    }
    return documents.reading;
  }

  private void read(ManifestEvents events) {
    ManifestTree tree = new ManifestTree(limits, events, before.aliasSize);
    try {
      while (!isWrongWay && events.next() != Kind.END) {
        document(tree);
        reading.documents++;
        if (events instanceof JsonEvents) {
          break;
        }
      }
    } catch (ManifestFault fault) {
      reading.fault = fault;
    } catch (Full full) {
      reading.isFull = true;
    }
    reading.aliasSize = tree.aliasSize() - before.aliasSize;
  }

  /** The path of the document being read: counted from 0, empty ones included. */
  private String path() {
    return "document[" + (before.documents + reading.documents) + "]";
  }

  private void document(ManifestTree tree) {
    Items items = new Items(path());
    Value document = tree.document(streaming ? items : null);
    JsonNode node = document.node();
    if (node instanceof ObjectNode list && items.begun) {
      String kind = ManifestTree.text(list, "kind");
      isWrongWay = kind == null || !kind.endsWith(LIST);
      if (isWrongWay) {
        return;
      }
      items.end(list);
    }
    boolean nothing = node.isNull() || node.isArray();
    if (!nothing || !document.flaws().isEmpty()) {
      value(path(), document, null, null);
    }
  }

  /** Items of a list document, converted as they come or, while their kind may follow, kept. */
  private final class Items implements ManifestTree.Sink {
    private final String path;
    private final List<Value> kept = new ArrayList<>();
    private String prefix = "";
    private boolean begun;
    private boolean mayBeTyped;
    private boolean keeps;
    private int count;
    private @Nullable String apiVersion;
    private @Nullable String itemKind;

    Items(String path) {
      this.path = path;
    }

    @Override
    public void begin(@Nullable ObjectNode list) {
      begun = true;
      if (list == null) {
        prefix = path;
        return;
      }
      prefix = path + ".items";
      mayBeTyped = true;
      apiVersion = ManifestTree.text(list, "apiVersion");
      itemKind = itemKind(ManifestTree.text(list, "kind"));
    }

    @Override
    public void item(Value item) {
      boolean complete =
          ManifestTree.text(item.node(), "kind") != null
              && ManifestTree.text(item.node(), "apiVersion") != null;
      keeps |= mayBeTyped && !complete && (itemKind == null || apiVersion == null);
      if (keeps) {
        kept.add(item);
      } else {
        convert(item);
      }
    }

    void end(ObjectNode list) {
      begin(list);
      kept.forEach(this::convert);
    }

    private void convert(Value item) {
      value(prefix + "[" + count++ + "]", item, apiVersion, itemKind);
    }
  }

  /** The kind of the items of a typed list, or null. */
  private static @Nullable String itemKind(@Nullable String kind) {
    return kind != null && kind.endsWith(LIST) && kind.length() > LIST.length()
        ? kind.substring(0, kind.length() - LIST.length())
        : null;
  }

  private void value(String path, Value value, @Nullable String apiVersion, @Nullable String kind) {
    if (value.flaws().isEmpty()) {
      object(path, value.line(), value.node(), apiVersion, kind);
    } else {
      String shownKind = kind == null ? ManifestTree.text(value.node(), "kind") : kind;
      report(nameOr(path, shownKind, value.node()), value.flaws());
    }
  }

  private void report(String path, List<Flaw> flaws) {
    for (Flaw flaw : flaws) {
      add(FieldPath.within(path, flaw.field()), flaw.message());
    }
  }

  /**
   * Reads an object or a list of some.
   *
   * @param path of it
   * @param line where it begins
   * @param node it
   * @param listVersion the API version of the typed list that it stands in, or null
   * @param listKind the kind of that list's items, or null
   */
  private void object(
      String path,
      int line,
      JsonNode node,
      @Nullable String listVersion,
      @Nullable String listKind) {
    if (!(node instanceof ObjectNode tree)) {
      add(
          path,
          "line "
              + line
              + ": expected an object (a mapping with apiVersion and kind), got "
              + Shown.of(node)
              + "; remove it");
      return;
    }
    String apiVersion = own(tree, "apiVersion", listVersion);
    String kind = own(tree, "kind", listKind);
    String name = nameOr(path, kind, tree);
    if (apiVersion == null) {
      addMissing(name, line, tree, "apiVersion", "v1");
    }
    if (kind == null) {
      addMissing(name, line, tree, "kind", "Node");
    } else if (isList(kind, tree)) {
      items(path, line, tree, apiVersion, itemKind(kind));
    } else if (apiVersion != null) {
      convert(name, typed(tree, apiVersion, kind), apiVersion, kind);
    }
  }

  private static @Nullable String own(ObjectNode tree, String field, @Nullable String inherited) {
    return tree.has(field) ? ManifestTree.text(tree, field) : inherited;
  }

  private void addMissing(String path, int line, ObjectNode tree, String field, String example) {
    add(
        path + "." + field,
        "line "
            + line
            + ": expected a string such as \""
            + example
            + "\", got "
            + Shown.of(tree.path(field))
            + "; the object is left out");
  }

  private static boolean isList(String kind, ObjectNode tree) {
    return kind.endsWith(LIST) && (tree.has("items") || kind.equals(LIST));
  }

  private void items(
      String path,
      int line,
      ObjectNode list,
      @Nullable String apiVersion,
      @Nullable String itemKind) {
    JsonNode items = list.path("items");
    if (items.isArray()) {
      for (int i = 0; i < items.size(); i++) {
        object(path + ".items[" + i + "]", line, items.get(i), apiVersion, itemKind);
      }
    } else if (!items.isNull()) {
      // Clients write null for a list of nothing.
      add(path + ".items", "line " + line + ": expected a list, got " + Shown.of(items));
    }
  }

  /** The object with its type, which it may have from its list. */
  private static ObjectNode typed(ObjectNode tree, String apiVersion, String kind) {
    if (tree.has("apiVersion") && tree.has("kind")) {
      return tree;
    }
    ObjectNode typed = JsonNodeFactory.instance.objectNode();
    typed.put("apiVersion", apiVersion).put("kind", kind);
    typed.setAll(tree);
    return typed;
  }

  private void convert(String path, ObjectNode tree, String apiVersion, String kind) {
    HasMetadata object =
        ManifestConverter.convert(apiVersion, kind, tree, flaw -> report(path, List.of(flaw)));
    if (object == null) {
      return;
    }
    if (before.objects.size() + reading.objects.size() >= limits.maxObjects()) {
      throw new Full();
    }
    reading.objects.add(object);
  }

  /** How problems name an object: by kind and name if it has them, else by its place. */
  private static String nameOr(String place, @Nullable String kind, JsonNode object) {
    JsonNode metadata = object.path("metadata");
    String name = written(metadata, "name");
    String namespace = written(metadata, "namespace");
    return kind == null || name == null || isTooLong(kind, name, namespace)
        ? place
        : new ObjectRef("", kind, namespace == null ? "" : namespace, name).path();
  }

  /** As the object has it, where something else than a string is read as one. */
  private static @Nullable String written(JsonNode metadata, String field) {
    JsonNode value = metadata.path(field);
    return value.isNumber() || value.isBoolean()
        ? ManifestScalars.written(value)
        : ManifestTree.text(metadata, field);
  }

  private static boolean isTooLong(String kind, String name, @Nullable String namespace) {
    return kind.length() > LONGEST_NAME
        || name.length() > LONGEST_NAME
        || namespace != null && namespace.length() > LONGEST_NAME;
  }

  private void add(String path, String message) {
    reading.add(path, message, before.problems.size(), limits);
  }

  /** More objects than may be read. */
  private static final class Full extends RuntimeException {
    Full() {
      super(null, null, false, false);
    }
  }
}
