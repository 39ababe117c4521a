package agent.server;

import agent.server.BodyLimits.Unit;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.SerializableString;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.sym.PropertyNameMatcher;
import tools.jackson.core.util.JsonParserDelegate;

/**
 * Counts the elements of arrays and the members of maps while a body is decoded, and refuses the
 * first one above a limit: what is decoded never exceeds the limits, whatever the body holds.
 */
final class CountingParser extends JsonParserDelegate {
  private static final int MOST_DEPTH = 128;

  private final BodyLimits limits;
  private final Unit root;

  /** What is counted in other arrays and maps: a document of rules has many labels. */
  private final Unit others;

  private final long[] counts = new long[Unit.values().length];

  /** What is counted at each depth: the elements of an array, the members of a map, or nothing. */
  private final Unit[] elements = new Unit[MOST_DEPTH];

  private final Unit[] members = new Unit[MOST_DEPTH];
  private int depth;

  /** A body holds more than a limit allows. */
  static final class OverLimitException extends StreamConstraintsException {
    private static final long serialVersionUID = 1L;

    OverLimitException(String message) {
      super(message);
    }
  }

  /**
   * Creates a parser.
   *
   * @param root what the elements are where the body is an array
   */
  CountingParser(JsonParser parser, BodyLimits limits, Unit root) {
    super(parser);
    this.limits = limits;
    this.root = root;
    others = root == Unit.RULES ? Unit.LABELS : Unit.ENTRIES;
  }

  /** Returns what the elements of an array are, by the field that it is the value of. */
  private Unit unitOf(String field) {
    return switch (field) {
      case "ingress", "egress", "ingressDeny", "egressDeny" -> Unit.PEERS;
      case "fromEndpoints", "toEndpoints", "fromRequires", "toRequires" -> Unit.PEERS;
      case "fromEntities", "toEntities", "toServices", "toFQDNs" -> Unit.PEERS;
      case "toPorts", "ports", "dports", "icmps", "fields", "http", "dns" -> Unit.PEERS;
      case "fromCIDR", "toCIDR", "fromCIDRSet", "toCIDRSet", "except" -> Unit.CIDRS;
      case "deny" -> Unit.PREFIXES;
      case "backend-addresses" -> Unit.BACKENDS;
      default -> others;
    };
  }

  /** Returns what the members of an object are; null for a record, whose fields are few. */
  private Unit membersOf(String field) {
    return "matchLabels".equals(field) || "options".equals(field) ? others : members[depth];
  }

  @Override
  public JsonToken nextToken() {
    final JsonToken token = delegate.nextToken();
    if (token != null) {
      switch (token) {
        case START_ARRAY -> beginArray();
        case START_OBJECT -> beginObject();
        case END_ARRAY, END_OBJECT -> depth--;
        case PROPERTY_NAME -> count(members[depth]);
        default -> count(elements[depth]);
      }
    }
    return token;
  }

  private void beginArray() {
    count(elements[depth]);
    final String field = delegate.currentName();
    final Unit unit = depth == 0 ? root : field == null ? elements[depth] : unitOf(field);
    depth++;
    elements[depth] = unit;
    members[depth] = members[depth - 1];
  }

  private void beginObject() {
    count(elements[depth]);
    final Unit within = membersOf(delegate.currentName());
    depth++;
    elements[depth] = null;
    members[depth] = within;
  }

  private void count(Unit unit) {
    if (unit != null && ++counts[unit.ordinal()] > limits.most(unit)) {
      throw new OverLimitException(
          "more than %d %s in one request (%s)"
              .formatted(limits.most(unit), unit.text(), unit.option()));
    }
  }

  @Override
  public JsonToken nextValue() {
    final JsonToken token = nextToken();
    return token == JsonToken.PROPERTY_NAME ? nextToken() : token;
  }

  @Override
  public String nextName() {
    return nextToken() == JsonToken.PROPERTY_NAME ? delegate.currentName() : null;
  }

  @Override
  public boolean nextName(SerializableString name) {
    return name.getValue().equals(nextName());
  }

  @Override
  public int nextNameMatch(PropertyNameMatcher matcher) {
    final String name = nextName();
    if (name != null) {
      return matcher.matchName(name);
    }
    return delegate.hasToken(JsonToken.END_OBJECT)
        ? PropertyNameMatcher.MATCH_END_OBJECT
        : PropertyNameMatcher.MATCH_ODD_TOKEN;
  }

  /** Counts what it passes over, too. */
  @Override
  public JsonParser skipChildren() {
    if (delegate.hasToken(JsonToken.START_OBJECT) || delegate.hasToken(JsonToken.START_ARRAY)) {
      final int outer = depth - 1;
      while (depth > outer && nextToken() != null) {
        // nextToken() counts
      }
    }
    return this;
  }
}
