package agent.server;

import static agent.server.OperationClass.CONFIG;
import static agent.server.OperationClass.ENDPOINT;
import static agent.server.OperationClass.IPAM;
import static agent.server.OperationClass.POLICY;
import static agent.server.OperationClass.PREFILTER;
import static agent.server.OperationClass.READ;
import static agent.server.OperationClass.SERVICE;
import static agent.server.Verb.DELETE;
import static agent.server.Verb.GET;
import static agent.server.Verb.PATCH;
import static agent.server.Verb.POST;
import static agent.server.Verb.PUT;

import agent.types.Refusal;
import java.util.List;

/**
 * The routes of the API with the query parameters that each accepts. A test compares this table
 * with {@code openapi.yaml}.
 */
public enum Route {
  LIST_NODES(GET, "/cluster/nodes", READ),
  GET_HEALTHZ(GET, "/healthz", READ),
  GET_HEALTH(GET, "/health", READ),
  GET_CONFIG(GET, "/config", READ),
  PATCH_CONFIG(PATCH, "/config", CONFIG),
  GET_DEBUGINFO(GET, "/debuginfo", READ),
  GET_METRICS(GET, "/metrics/", READ),
  GET_OPENAPI(GET, "/openapi.yaml", READ),

  LIST_ENDPOINTS(GET, "/endpoint", READ, "labels"),
  DELETE_ENDPOINTS(DELETE, "/endpoint", ENDPOINT),
  GET_ENDPOINT(GET, "/endpoint/{id}", READ),
  PUT_ENDPOINT(PUT, "/endpoint/{id}", ENDPOINT),
  PATCH_ENDPOINT(PATCH, "/endpoint/{id}", ENDPOINT),
  DELETE_ENDPOINT(DELETE, "/endpoint/{id}", ENDPOINT),
  GET_ENDPOINT_CONFIG(GET, "/endpoint/{id}/config", READ),
  PATCH_ENDPOINT_CONFIG(PATCH, "/endpoint/{id}/config", ENDPOINT),
  GET_ENDPOINT_LABELS(GET, "/endpoint/{id}/labels", READ),
  PATCH_ENDPOINT_LABELS(PATCH, "/endpoint/{id}/labels", ENDPOINT),
  GET_ENDPOINT_LOG(GET, "/endpoint/{id}/log", READ),
  GET_ENDPOINT_HEALTHZ(GET, "/endpoint/{id}/healthz", READ),

  LIST_IDENTITIES(GET, "/identity", READ, "labels"),
  LIST_IDENTITIES_IN_USE(GET, "/identity/endpoints", READ),
  GET_IDENTITY(GET, "/identity/{id}", READ),

  ALLOCATE_ADDRESS(POST, "/ipam", IPAM, "family", "owner", "pool"),
  ALLOCATE_THIS_ADDRESS(POST, "/ipam/{ip}", IPAM, "owner", "pool"),
  RELEASE_ADDRESS(DELETE, "/ipam/{ip}", IPAM, "pool"),

  GET_POLICY(GET, "/policy", READ, "labels"),
  PUT_POLICY(PUT, "/policy", POLICY, "replace", "replace-with-labels"),
  DELETE_POLICY(DELETE, "/policy", POLICY, "labels"),
  RESOLVE_POLICY(GET, "/policy/resolve", READ),
  LIST_SELECTORS(GET, "/policy/selectors", READ),

  LIST_SERVICES(GET, "/service", READ),
  GET_SERVICE(GET, "/service/{id}", READ),
  PUT_SERVICE(PUT, "/service/{id}", SERVICE),
  DELETE_SERVICE(DELETE, "/service/{id}", SERVICE),

  LIST_NAMES(GET, "/fqdn/cache", READ, "matchpattern", "cidr"),
  DELETE_NAMES(DELETE, "/fqdn/cache", POLICY, "matchpattern"),
  LIST_NAMES_OF_ENDPOINT(GET, "/fqdn/cache/{id}", READ, "matchpattern", "cidr"),

  GET_PREFILTER(GET, "/prefilter", READ),
  PATCH_PREFILTER(PATCH, "/prefilter", PREFILTER),
  DELETE_PREFILTER(DELETE, "/prefilter", PREFILTER),

  LIST_MAPS(GET, "/map", READ),
  GET_MAP(GET, "/map/{name}", READ);

  private final Verb verb;
  private final String path;
  private final OperationClass operationClass;
  private final List<String> queryParameters;

  Route(Verb verb, String path, OperationClass operationClass, String... queryParameters) {
    this.verb = verb;
    this.path = path;
    this.operationClass = operationClass;
    this.queryParameters = List.of(queryParameters);
  }

  /** Returns the HTTP method. */
  public Verb verb() {
    return verb;
  }

  /** Returns the path template, parameters in braces. */
  public String path() {
    return path;
  }

  /** Returns the operation class whose rate limit applies to the call. */
  public OperationClass operationClass() {
    return operationClass;
  }

  /** Returns the query parameters that the call accepts; others are refused. */
  public List<String> queryParameters() {
    return queryParameters;
  }

  /** Returns the {@code operationId} in {@code openapi.yaml}: the name in camel case. */
  public String operationId() {
    final StringBuilder id = new StringBuilder();
    for (final String word : name().split("_")) {
      id.append(word.charAt(0)).append(word.substring(1).toLowerCase(java.util.Locale.ROOT));
    }
    id.setCharAt(0, Character.toLowerCase(id.charAt(0)));
    return id.toString();
  }

  /** Returns whether the call is answered while the datapath starts. */
  public boolean servedWhileStarting() {
    return this == GET_HEALTHZ || this == GET_METRICS;
  }

  /** Returns whether limits apply: what watches the agent must never be refused or wait. */
  boolean isLimited() {
    return this != GET_HEALTHZ && this != GET_METRICS;
  }

  /** Returns whether the handler reads only memory and so may run on the I/O thread. */
  boolean answersAtOnce() {
    return this == GET_HEALTHZ;
  }

  /** Returns the status code of a refusal by the domain; that of a service tells which part. */
  int statusOf(Refusal refusal) {
    if (refusal.kind() == Refusal.Kind.INVALID && operationClass == SERVICE) {
      if (refusal.field().startsWith("frontend-address")) {
        return 460;
      }
      return refusal.field().startsWith("backend-addresses") ? 461 : 400;
    }
    return statusOf(refusal.kind());
  }

  /**
   * Returns the status code of a refusal by the domain.
   *
   * @param kind the kind of the refusal
   */
  public int statusOf(Refusal.Kind kind) {
    return switch (kind) {
      case INVALID -> operationClass == PREFILTER ? 461 : 400;
      case NOT_FOUND -> 404;
      case CONFLICT, STALE -> 409;
      case EXHAUSTED -> operationClass == IPAM ? 502 : 500;
      case DISABLED -> 501;
      case OVER_LIMIT -> 413;
      case UNAVAILABLE -> path.startsWith("/identity") ? 520 : 503;
    };
  }
}
