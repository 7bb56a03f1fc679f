package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.ManifestEvents.Kind;
import dev.slicewright.kubernetes.ManifestTree.Flaw;
import dev.slicewright.kubernetes.ManifestTree.Value;
import io.fabric8.kubernetes.api.model.HasMetadata;
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

  /** Whether the items of lists are taken one by one. */
  private final boolean streams;

  /** The type of the list, found by reading it once, or null. */
  private final @Nullable ListType knownType;

  /** How to read the part again, or null if this reading is the right one. */
  private @Nullable ManifestDocuments again;

  private ManifestDocuments(
      ManifestLimits limits,
      ManifestReading before,
      boolean streams,
      @Nullable ListType knownType) {
    this.limits = limits;
    this.before = before;
    this.streams = streams;
    this.knownType = knownType;
  }

  /** Makes the events of a part anew. */
  interface Source {
    ManifestEvents events();
  }

  /** What the items of a list are if they do not say it; null where the list does not either. */
  private record ListType(@Nullable String apiVersion, @Nullable String itemKind) {

    static final ListType UNKNOWN = new ListType(null, null);

    static ListType of(@Nullable String apiVersion, @Nullable String kind) {
      return kind != null && kind.endsWith(LIST) && !kind.equals(LIST)
          ? new ListType(apiVersion, kind.substring(0, kind.length() - LIST.length()))
          : new ListType(apiVersion, null);
    }
  }

  /**
   * Reads a part: once, or a second time if a document with items proves to be no list, or to be a
   * typed list whose type follows its items. Neither is usual, and so lists need not be kept.
   *
   * @param limits how much
   * @param before what has been read of the text before
   * @param source of events
   * @return what was read
   */
  static ManifestReading read(ManifestLimits limits, ManifestReading before, Source source) {
    ManifestDocuments first = new ManifestDocuments(limits, before, true, null);
    first.read(source.events());
    ManifestDocuments second = first.again;
    if (second == null) {
      return first.reading;
    }
    second.read(source.events());
    return second.reading;
  }

  private void read(ManifestEvents events) {
    ManifestTree tree = new ManifestTree(limits, events, before.aliasSize);
    try {
      while (again == null && events.next() != Kind.END) {
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
    Value document;
    try {
      document = tree.document(streams ? items : null);
    } catch (ManifestFault fault) {
      if (items.wantType) {
        // The type will not follow: now every item without one is a problem.
        again = new ManifestDocuments(limits, before, true, ListType.UNKNOWN);
      }
      throw fault;
    }
    JsonNode node = document.node();
    if (node.isObject() && items.begun) {
      String kind = ManifestTree.text(node, "kind");
      if (kind == null || !kind.endsWith(LIST)) {
        again = new ManifestDocuments(limits, before, false, null);
      } else if (items.wantType) {
        ListType type = ListType.of(ManifestTree.text(node, "apiVersion"), kind);
        again = new ManifestDocuments(limits, before, true, type);
      }
    }
    boolean isRead = node.isNull() || node.isArray();
    if (again == null && (!isRead || !document.flaws().isEmpty())) {
      value(path(), document, ListType.UNKNOWN);
    }
  }

  /** Converts the items of a list document as they come. */
  private final class Items implements ManifestTree.Sink {
    private String prefix;
    private ListType type = ListType.UNKNOWN;
    private boolean begun;
    private boolean typeMayFollow;

    /** Whether there are items without a type, which the list may have after them. */
    private boolean wantType;

    private int count;

    Items(String path) {
      prefix = path;
    }

    @Override
    public void begin(@Nullable ObjectNode list) {
      begun = true;
      if (list == null) {
        return;
      }
      prefix += ".items";
      if (knownType != null) {
        type = knownType;
      } else {
        String kind = ManifestTree.text(list, "kind");
        type = ListType.of(ManifestTree.text(list, "apiVersion"), kind);
        typeMayFollow = kind == null || type.apiVersion() == null;
      }
    }

    @Override
    public void item(Value item) {
      boolean complete =
          ManifestTree.text(item.node(), "kind") != null
              && ManifestTree.text(item.node(), "apiVersion") != null;
      wantType |= typeMayFollow && !complete;
      if (!wantType) {
        value(prefix + "[" + count++ + "]", item, type);
      }
    }
  }

  private void value(String path, Value value, ListType list) {
    if (value.flaws().isEmpty()) {
      object(path, value.line(), value.node(), list);
    } else {
      String kind = own(value.node(), "kind", list.itemKind());
      report(nameOr(path, kind, value.node()), value.flaws());
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
   * @param list the type of the list that it stands in
   */
  private void object(String path, int line, JsonNode node, ListType list) {
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
    String apiVersion = own(tree, "apiVersion", list.apiVersion());
    String kind = own(tree, "kind", list.itemKind());
    String name = nameOr(path, kind, tree);
    if (apiVersion == null) {
      addMissing(name, line, tree, "apiVersion", "v1");
    }
    if (kind == null) {
      addMissing(name, line, tree, "kind", "Node");
    } else if (isList(kind, tree)) {
      items(path, line, tree, ListType.of(apiVersion, kind));
    } else if (apiVersion != null) {
      convert(name, typed(tree, apiVersion, kind), apiVersion, kind);
    }
  }

  private static @Nullable String own(JsonNode tree, String field, @Nullable String inherited) {
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

  private void items(String path, int line, ObjectNode list, ListType type) {
    JsonNode items = list.path("items");
    if (items.isArray()) {
      for (int i = 0; i < items.size(); i++) {
        object(path + ".items[" + i + "]", line, items.get(i), type);
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
        || (namespace != null && namespace.length() > LONGEST_NAME);
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
