package dev.slicewright.report;

import dev.slicewright.Problems;
import java.io.Reader;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.json.JsonFactory;

/**
 * Reads JSON into maps, lists, strings, {@code Long}, {@code BigInteger} (what no long holds),
 * {@code Double}, {@code Boolean} and {@link #NULL}. The only class that names Jackson.
 */
final class JsonTree {

  /** What stands for JSON's null. */
  static final Object NULL = new Object();

  static final int MAX_DEPTH = 32;
  static final int MAX_STRING = 1 << 16;
  static final int MAX_NAME = 1 << 10;
  static final int MAX_DIGITS = 60;
  static final long MAX_TOKENS = 8_000_000;

  private final Problems problems;
  private final JsonParser parser;

  private JsonTree(JsonParser parser, Problems problems) {
    this.parser = parser;
    this.problems = problems;
  }

  /**
   * Reads one document.
   *
   * @return its value; if anything is wrong it is in the problems, and the value is not to be used
   */
  static Object read(Reader reader, long maxLength, Problems problems) {
    JsonFactory factory =
        JsonFactory.builder()
            .streamReadConstraints(
                StreamReadConstraints.builder()
                    .maxDocumentLength(maxLength)
                    .maxNestingDepth(MAX_DEPTH)
                    .maxStringLength(MAX_STRING)
                    .maxNameLength(MAX_NAME)
                    .maxNumberLength(MAX_DIGITS)
                    .maxTokenCount(MAX_TOKENS)
                    .build())
            .build();
    try (JsonParser parser = factory.createParser(ObjectReadContext.empty(), reader)) {
      JsonTree tree = new JsonTree(parser, problems);
      try {
        JsonToken first = parser.nextToken();
        if (first == null) {
          problems.add("document", "expected a JSON document, but it is empty");
          return NULL;
        }
        Object value = tree.value(first, "");
        if (parser.nextToken() != null) {
          problems.add(
              tree.here(), "expected one JSON document, but more follows; write one a file");
        }
        return value;
      } catch (JacksonIOException e) {
        throw new java.io.UncheckedIOException(e.getCause());
      } catch (StreamConstraintsException e) {
        problems.add(
            tree.here(),
            "the document is beyond a limit (at most "
                + maxLength
                + " characters, "
                + MAX_TOKENS
                + " values, "
                + MAX_DEPTH
                + " levels deep, strings of "
                + MAX_STRING
                + ", names of "
                + MAX_NAME
                + ", numbers of "
                + MAX_DIGITS
                + " characters): "
                + e.getOriginalMessage());
      } catch (JacksonException e) {
        TokenStreamLocation at = e.getLocation();
        problems.add(
            at == null ? tree.here() : place(at),
            "this is not JSON, or ends too early: " + Words.shorten(e.getOriginalMessage(), 300));
      }
      return NULL;
    }
  }

  private String here() {
    return place(parser.currentLocation());
  }

  private static String place(TokenStreamLocation at) {
    return "line " + at.getLineNr() + ", column " + at.getColumnNr();
  }

  private Object value(JsonToken token, String path) {
    return switch (token) {
      case START_OBJECT -> object(path);
      case START_ARRAY -> array(path);
      case VALUE_STRING -> parser.getString();
      case VALUE_NUMBER_INT -> {
        String digits = parser.getString();
        if (digits.length() > 18) {
          BigInteger big = new BigInteger(digits);
          yield big.bitLength() < Long.SIZE ? (Object) big.longValue() : big;
        }
        yield Long.parseLong(digits);
      }
      case VALUE_NUMBER_FLOAT -> Double.parseDouble(parser.getString());
      case VALUE_TRUE -> Boolean.TRUE;
      case VALUE_FALSE -> Boolean.FALSE;
      default -> NULL;
    };
  }

  private Object object(String path) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (JsonToken t = next(); t != JsonToken.END_OBJECT; t = next()) {
      String name = parser.currentName();
      String inner = Fields.join(path, name);
      Object value = value(next(), inner);
      if (map.putIfAbsent(name, value) != null) {
        problems.add(inner, "this name stands twice in its object; remove one");
      }
    }
    return map;
  }

  private Object array(String path) {
    List<Object> list = new ArrayList<>();
    for (JsonToken t = next(); t != JsonToken.END_ARRAY; t = next()) {
      // The path is made only for what can hold a name.
      boolean nested = t == JsonToken.START_OBJECT || t == JsonToken.START_ARRAY;
      list.add(value(t, nested ? path + "[" + list.size() + "]" : ""));
    }
    return list;
  }

  private JsonToken next() {
    JsonToken token = parser.nextToken();
    if (token == null) {
      throw new tools.jackson.core.exc.UnexpectedEndOfInputException(
          parser, JsonToken.NOT_AVAILABLE, "the document ends too early");
    }
    return token;
  }
}
