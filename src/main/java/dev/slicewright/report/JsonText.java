package dev.slicewright.report;

import java.util.List;
import java.util.Map;

/**
 * Writes maps, lists, strings, numbers and booleans as JSON for people: what fits stands on one
 * line, numbers run on, everything else has a line of its own.
 */
final class JsonText {

  private static final int WIDTH = 110;

  private final StringBuilder out = new StringBuilder();

  private JsonText() {}

  static String of(Object value) {
    JsonText text = new JsonText();
    text.write(value, 0, 0);
    return text.out.append('\n').toString();
  }

  /** Writes a value that begins at a column of the present line. */
  private void write(Object value, int indent, int column) {
    int from = out.length();
    if (line(value, WIDTH - column, from)) {
      return;
    }
    out.setLength(from);
    String margin = " ".repeat(indent + 2);
    if (value instanceof Map<?, ?> map) {
      out.append('{');
      String comma = "\n";
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        out.append(comma).append(margin);
        int start = out.length();
        quote((String) entry.getKey());
        out.append(": ");
        write(entry.getValue(), indent + 2, indent + 2 + out.length() - start + 1);
        comma = ",\n";
      }
      out.append('\n').append(" ".repeat(indent)).append('}');
    } else if (value instanceof List<?> list) {
      boolean run = list.stream().noneMatch(v -> v instanceof Map || v instanceof List);
      out.append('[');
      int used = WIDTH;
      for (int i = 0; i < list.size(); i++) {
        int start = out.length();
        if (run && used < WIDTH - 20) {
          out.append(", ");
          line(list.get(i), Integer.MAX_VALUE, start);
          used += out.length() - start;
        } else {
          out.append(i > 0 ? ",\n" : "\n").append(margin);
          write(list.get(i), indent + 2, indent + 3);
          used = indent + 2 + out.length() - start;
        }
      }
      out.append('\n').append(" ".repeat(indent)).append(']');
    } else {
      line(value, Integer.MAX_VALUE, from);
    }
  }

  /** Writes a value on one line; gives up, with rubbish behind, once it is longer than the room. */
  private boolean line(Object value, int room, int from) {
    if (value instanceof Map<?, ?> map) {
      out.append('{');
      String comma = "";
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        out.append(comma);
        quote((String) entry.getKey());
        out.append(": ");
        if (!line(entry.getValue(), room, from)) {
          return false;
        }
        comma = ", ";
      }
      out.append('}');
    } else if (value instanceof List<?> list) {
      out.append('[');
      String comma = "";
      for (Object inner : list) {
        out.append(comma);
        if (!line(inner, room, from)) {
          return false;
        }
        comma = ", ";
      }
      out.append(']');
    } else if (value instanceof String string) {
      quote(string);
    } else if (value instanceof Double number) {
      // 275.0 as 275: no reader of ours minds, and people prefer it.
      out.append(
          number == Math.rint(number) && Math.abs(number) < 1e15
              ? Long.toString(number.longValue())
              : number.toString());
    } else {
      out.append(value);
    }
    return out.length() - from <= room;
  }

  private void quote(String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"' -> out.append("\\\"");
        case '\\' -> out.append("\\\\");
        case '\n' -> out.append("\\n");
        case '\t' -> out.append("\\t");
        case '\r' -> out.append("\\r");
        default -> {
          if (c < 0x20 || c == 0x7F || Character.isSurrogate(c) || c == 0x2028 || c == 0x2029) {
            out.append("\\u");
            for (int shift = 12; shift >= 0; shift -= 4) {
              out.append("0123456789abcdef".charAt(c >> shift & 15));
            }
          } else {
            out.append(c);
          }
        }
      }
    }
    out.append('"');
  }
}
