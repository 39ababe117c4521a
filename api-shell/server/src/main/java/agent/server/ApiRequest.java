package agent.server;

import agent.server.BodyLimits.Unit;
import agent.types.Refusal;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.json.JsonMapper;

/** A request: its parameters, headers and body. The body is decoded when a handler asks for it. */
public final class ApiRequest {
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,10}");

  private static final String LABELS = "labels";

  /** Query parameters that may be given more than once. */
  private static final Set<String> REPEATABLE = Set.of(LABELS, "replace-with-labels");

  private static final long LONGEST_WAIT_SEC = 120;

  private final Map<String, String> pathParameters;
  private final Map<String, List<String>> query;
  private final Headers headers;
  private final Body body;
  private final JsonMapper mapper;
  private final long changes;
  private final BodyLimits limits;

  /** The headers of a request. */
  @FunctionalInterface
  interface Headers {
    /** Returns the first value of a header, or null. */
    String first(String name);
  }

  /** The body of a request. */
  interface Body {
    /** Returns whether a body was sent. */
    boolean isPresent();

    /** Opens the body; may be called once. */
    InputStream open();
  }

  ApiRequest(
      RouteTable.Match match,
      Map<String, List<String>> query,
      Headers headers,
      Body body,
      JsonMapper mapper,
      BodyLimits limits,
      long changes) {
    this.pathParameters = match.pathParameters();
    this.query = query;
    this.headers = headers;
    this.body = body;
    this.mapper = mapper;
    this.changes = changes;
    this.limits = limits;
    query.forEach((name, values) -> check(match.route(), name, values));
  }

  private static void check(Route route, String name, List<String> values) {
    if (!route.queryParameters().contains(name)) {
      throw HttpRefusal.badRequest(name, "unknown query parameter");
    }
    if (values.size() > 1 && !REPEATABLE.contains(name)) {
      throw HttpRefusal.badRequest(name, "duplicate query parameter");
    }
  }

  /** Returns how many changing calls the API had answered when this request began. */
  long changes() {
    return changes;
  }

  /** Returns a path parameter, decoded. */
  public String path(String name) {
    return pathParameters.get(name);
  }

  /**
   * Returns a path parameter that is a number, 1 to 2147483647.
   *
   * @param name the parameter
   * @param owner the kind of number, for the refusal
   * @throws Refusal INVALID for anything else
   */
  public int pathNumber(String name, String owner) {
    final String text = path(name);
    final long number = NUMBER.matcher(text).matches() ? Long.parseLong(text) : 0;
    if (number < 1 || number > Integer.MAX_VALUE) {
      throw Refusal.invalid(name, "'" + text + "' is not a valid " + owner);
    }
    return (int) number;
  }

  /** Returns a query parameter, or null where it is not given. */
  public String query(String name) {
    final List<String> values = query.get(name);
    return values == null ? null : values.getFirst();
  }

  /** Returns the values of a query parameter that may be repeated; none where it is not given. */
  public List<String> queryAll(String name) {
    return query.getOrDefault(name, List.of());
  }

  /**
   * Reads a boolean query parameter.
   *
   * @throws HttpRefusal 400 where it is neither {@code true} nor {@code false}
   */
  public boolean querySwitch(String name) {
    return isOn(name, query(name));
  }

  /**
   * Reads a boolean header.
   *
   * @throws HttpRefusal 400 where it is neither {@code true} nor {@code false}
   */
  public boolean headerSwitch(String name) {
    return isOn(name, headers.first(name));
  }

  private static boolean isOn(String name, String value) {
    if (value == null || value.equalsIgnoreCase("false")) {
      return false;
    }
    if (value.isEmpty() || value.equalsIgnoreCase("true")) {
      return true;
    }
    throw HttpRefusal.badRequest(name, "'" + value + "' is neither true nor false");
  }

  /** Returns a header, or an empty string. */
  public String header(String name) {
    final String value = headers.first(name);
    return value == null ? "" : value;
  }

  /**
   * Decodes the body.
   *
   * @param type a record of the contract
   * @throws HttpRefusal 400 naming the field, or the line and column; 413 naming the limit
   */
  public <T> T body(Class<T> type) {
    return RequestBody.read(mapper, mapper.constructType(type), required(), limits, Unit.ENTRIES);
  }

  /**
   * Decodes a policy document.
   *
   * @param ruleType type of the rules
   * @throws HttpRefusal 400 naming the field, or the line and column; 413 naming the limit
   */
  public <T> List<T> bodyList(Class<T> ruleType) {
    return list(ruleType, Unit.RULES);
  }

  private <T> List<T> list(Class<T> elementType, Unit elements) {
    final JavaType type =
        mapper.getTypeFactory().constructCollectionType(ArrayList.class, elementType);
    return RequestBody.read(mapper, type, required(), limits, elements);
  }

  private InputStream required() {
    if (!body.isPresent()) {
      throw HttpRefusal.badRequest("body", "is missing; JSON is expected");
    }
    return body.open();
  }

  /**
   * Returns the exception for a body in which a value is missing or not valid: 400 on every route.
   *
   * @param field the field
   * @param reason what is wrong with it
   */
  public static RuntimeException badBody(String field, String reason) {
    return HttpRefusal.badRequest(field, reason);
  }

  /**
   * Returns the labels that select the result: from a JSON array in the body or from repeated query
   * parameters {@code labels}.
   *
   * @return the labels, or empty where no selection was given
   * @throws HttpRefusal 400 where both are given
   */
  public Optional<List<String>> labels() {
    final List<String> fromQuery = query.get(LABELS);
    if (!body.isPresent()) {
      return Optional.ofNullable(fromQuery);
    }
    if (fromQuery != null) {
      throw HttpRefusal.badRequest(LABELS, "is given both in the query and in the body");
    }
    return Optional.of(list(String.class, Unit.ENTRIES));
  }

  /**
   * Waits for a result that another thread computes, for at most two minutes.
   *
   * @throws ExecutionException with the cause, where the computation failed
   * @throws TimeoutException where there is no result in time
   */
  public static <T> T await(CompletableFuture<T> future)
      throws ExecutionException, InterruptedException, TimeoutException {
    return future.get(LONGEST_WAIT_SEC, TimeUnit.SECONDS);
  }
}
