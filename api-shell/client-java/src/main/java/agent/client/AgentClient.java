package agent.client;

import agent.contract.WireFormat;
import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.MetricModel;
import agent.contract.daemon.ModuleHealthModel;
import agent.contract.datapath.MapContentsModel;
import agent.contract.datapath.MapListModel;
import agent.contract.datapath.PrefilterListModel;
import agent.contract.datapath.PrefilterModel;
import agent.contract.debug.DebugInformationModel;
import agent.contract.endpoint.EndpointBatchDeleteRequest;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointConfigurationModel;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.endpoint.EndpointHealthModel;
import agent.contract.endpoint.EndpointLabelsModel;
import agent.contract.endpoint.EndpointLogEntryModel;
import agent.contract.endpoint.EndpointModel;
import agent.contract.endpoint.LabelConfigurationModel;
import agent.contract.fqdn.FqdnLookupModel;
import agent.contract.identity.IdentityInUseModel;
import agent.contract.identity.IdentityModel;
import agent.contract.ipam.IpamAllocationModel;
import agent.contract.node.NodeListModel;
import agent.contract.policy.PolicyModel;
import agent.contract.policy.PolicyResolutionModel;
import agent.contract.policy.PolicyResolutionRequest;
import agent.contract.policy.SelectorModel;
import agent.contract.service.ServiceModel;
import agent.contract.service.ServiceSpecModel;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.json.JsonMapper;

/**
 * A client of the management API, one method a route. For one thread; one call at a time.
 *
 * <p>Every method throws {@link AgentException} where the agent answers with an error, and {@link
 * IOException} where it cannot be reached.
 */
public final class AgentClient implements AutoCloseable {
  /** The socket of an agent with the default options. */
  public static final String DEFAULT_ADDRESS = "unix:///var/run/agent/agent.sock";

  private static final String SCHEME = "unix://";
  private static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(2);
  private static final int FIRST_ERROR = 400;

  private final HttpCaller caller;
  private JsonMapper mapper; // made when an answer is bound to a type, which some programs never do

  private AgentClient(Path socketPath, Duration timeout) {
    caller = new HttpCaller(socketPath, timeout);
  }

  /**
   * Returns a client; it connects with the first call.
   *
   * @param address {@code unix://<path>} or an absolute path
   * @throws IllegalArgumentException for another address
   */
  public static AgentClient of(String address) {
    return of(address, DEFAULT_TIMEOUT);
  }

  /**
   * Returns a client; it connects with the first call.
   *
   * @param address {@code unix://<path>} or an absolute path
   * @param timeout how long a read or write may wait for the agent
   * @throws IllegalArgumentException for another address
   */
  public static AgentClient of(String address, Duration timeout) {
    return new AgentClient(path(address), timeout);
  }

  /**
   * Returns the path of the socket that an address names.
   *
   * @throws IllegalArgumentException for another address
   */
  public static Path path(String address) {
    final String path = address.startsWith(SCHEME) ? address.substring(SCHEME.length()) : address;
    if (!path.startsWith("/")) {
      throw new IllegalArgumentException(
          "'" + address + "' is not an address of an agent, such as " + DEFAULT_ADDRESS);
    }
    return Path.of(path);
  }

  /** GET /healthz. */
  public DaemonStatusModel status(boolean brief) throws IOException {
    return one(DaemonStatusModel.class, open("GET", RequestPath.of("healthz"), brief(brief), null));
  }

  /** GET /health. */
  public ModuleHealthModel health(boolean brief) throws IOException {
    return one(ModuleHealthModel.class, open("GET", RequestPath.of("health"), brief(brief), null));
  }

  private static Map<String, String> brief(boolean brief) {
    return brief ? Map.of("brief", "true") : Map.of();
  }

  /** GET /config. */
  public DaemonConfigurationModel configuration() throws IOException {
    return one(DaemonConfigurationModel.class, get("config"));
  }

  /** PATCH /config; what is null in the request is not changed. */
  public DaemonConfigurationModel configure(DaemonConfigurationModel.Spec change)
      throws IOException {
    return one(DaemonConfigurationModel.class, send("PATCH", RequestPath.of("config"), change));
  }

  /** GET /cluster/nodes; without the client id of an answer before, all of them. */
  public NodeListModel nodes(Long clientId) throws IOException {
    final Map<String, String> headers =
        clientId == null ? Map.of() : Map.of("client-id", clientId.toString());
    return one(NodeListModel.class, open("GET", RequestPath.of("cluster", "nodes"), headers, null));
  }

  /** GET /debuginfo. */
  public DebugInformationModel debugInformation() throws IOException {
    return one(DebugInformationModel.class, get("debuginfo"));
  }

  /** GET /metrics/. */
  public List<MetricModel> metrics() throws IOException {
    return list(MetricModel.class, get("metrics", ""));
  }

  /** GET /endpoint; without labels all of them. */
  public List<EndpointModel> endpoints(List<String> labels) throws IOException {
    return list(EndpointModel.class, get(RequestPath.of("endpoint").queryEach("labels", labels)));
  }

  /** GET /endpoint/{id}. */
  public EndpointModel endpoint(String id) throws IOException {
    return one(EndpointModel.class, get("endpoint", id));
  }

  /** PUT /endpoint/{id}. */
  public EndpointModel createEndpoint(String id, EndpointChangeRequest request) throws IOException {
    return one(EndpointModel.class, send("PUT", RequestPath.of("endpoint", id), request));
  }

  /** PATCH /endpoint/{id}. */
  public EndpointModel modifyEndpoint(String id, EndpointChangeRequest request) throws IOException {
    return one(EndpointModel.class, send("PATCH", RequestPath.of("endpoint", id), request));
  }

  /** DELETE /endpoint/{id}; returns the errors of the deletion. */
  public List<String> deleteEndpoint(String id) throws IOException {
    return list(String.class, send("DELETE", RequestPath.of("endpoint", id), null));
  }

  /** DELETE /endpoint; returns the errors of the deletion. */
  public List<String> deleteEndpointsOf(String containerId) throws IOException {
    return list(
        String.class,
        send("DELETE", RequestPath.of("endpoint"), new EndpointBatchDeleteRequest(containerId)));
  }

  /** GET /endpoint/{id}/config. */
  public EndpointConfigurationModel endpointConfiguration(String id) throws IOException {
    return one(EndpointConfigurationModel.class, get("endpoint", id, "config"));
  }

  /** PATCH /endpoint/{id}/config. */
  public EndpointConfigurationModel configureEndpoint(
      String id, EndpointConfigurationSpecModel request) throws IOException {
    return one(
        EndpointConfigurationModel.class,
        send("PATCH", RequestPath.of("endpoint", id, "config"), request));
  }

  /** GET /endpoint/{id}/labels. */
  public EndpointLabelsModel endpointLabels(String id) throws IOException {
    return one(EndpointLabelsModel.class, get("endpoint", id, "labels"));
  }

  /** PATCH /endpoint/{id}/labels. */
  public EndpointLabelsModel labelEndpoint(String id, List<String> userLabels) throws IOException {
    return one(
        EndpointLabelsModel.class,
        send(
            "PATCH",
            RequestPath.of("endpoint", id, "labels"),
            new LabelConfigurationModel(userLabels)));
  }

  /** GET /endpoint/{id}/log. */
  public List<EndpointLogEntryModel> endpointLog(String id) throws IOException {
    return list(EndpointLogEntryModel.class, get("endpoint", id, "log"));
  }

  /** GET /endpoint/{id}/healthz. */
  public EndpointHealthModel endpointHealth(String id) throws IOException {
    return one(EndpointHealthModel.class, get("endpoint", id, "healthz"));
  }

  /** GET /identity; without labels all of them. */
  public List<IdentityModel> identities(List<String> labels) throws IOException {
    return list(IdentityModel.class, get(RequestPath.of("identity").queryEach("labels", labels)));
  }

  /** GET /identity/{id}. */
  public IdentityModel identity(String id) throws IOException {
    return one(IdentityModel.class, get("identity", id));
  }

  /** GET /identity/endpoints. */
  public List<IdentityInUseModel> identitiesInUse() throws IOException {
    return list(IdentityInUseModel.class, get("identity", "endpoints"));
  }

  /**
   * POST /ipam.
   *
   * @param family {@code ipv4}, {@code ipv6}, or null for both
   * @param owner name of the owner of the address, or null
   * @param pool pool, or null for the default one
   * @param expires whether the lease expires unless an endpoint claims the address
   */
  public IpamAllocationModel allocate(String family, String owner, String pool, boolean expires)
      throws IOException {
    final RequestPath path =
        RequestPath.of("ipam").query("family", family).query("owner", owner).query("pool", pool);
    final Map<String, String> headers = expires ? Map.of("expiration", "true") : Map.of();
    return one(IpamAllocationModel.class, open("POST", path, headers, null));
  }

  /** POST /ipam/{ip}. */
  public void allocateAddress(String ip, String owner, String pool) throws IOException {
    drain(send("POST", RequestPath.of("ipam", ip).query("owner", owner).query("pool", pool), null));
  }

  /** DELETE /ipam/{ip}. */
  public void release(String ip, String pool) throws IOException {
    drain(send("DELETE", RequestPath.of("ipam", ip).query("pool", pool), null));
  }

  /** GET /policy; without labels all rules. */
  public PolicyModel policy(List<String> labels) throws IOException {
    return one(PolicyModel.class, get(RequestPath.of("policy").queryEach("labels", labels)));
  }

  /** PUT /policy with rules as JSON text; replaces none. */
  public PolicyModel importPolicy(String rules) throws IOException {
    return importPolicy(rules, false, List.of());
  }

  /**
   * PUT /policy.
   *
   * @param rules rules as JSON text
   * @param replace whether rules with exactly the labels of a new one are replaced
   * @param replacedLabels rules that have all of these labels are replaced; empty for none
   */
  public PolicyModel importPolicy(String rules, boolean replace, List<String> replacedLabels)
      throws IOException {
    final RequestPath path =
        RequestPath.of("policy")
            .query("replace", replace ? "true" : null)
            .queryEach("replace-with-labels", replacedLabels);
    return one(
        PolicyModel.class, open("PUT", path, Map.of(), rules.getBytes(StandardCharsets.UTF_8)));
  }

  /** DELETE /policy; without labels all rules. */
  public PolicyModel deletePolicy(List<String> labels) throws IOException {
    return one(
        PolicyModel.class,
        send("DELETE", RequestPath.of("policy").queryEach("labels", labels), null));
  }

  /** GET /policy/resolve. */
  public PolicyResolutionModel resolvePolicy(PolicyResolutionRequest request) throws IOException {
    return one(
        PolicyResolutionModel.class, send("GET", RequestPath.of("policy", "resolve"), request));
  }

  /** GET /policy/selectors. */
  public List<SelectorModel> selectors() throws IOException {
    return list(SelectorModel.class, get("policy", "selectors"));
  }

  /** GET /service. */
  public List<ServiceModel> services() throws IOException {
    return list(ServiceModel.class, get("service"));
  }

  /** GET /service/{id}. */
  public ServiceModel service(int id) throws IOException {
    return one(ServiceModel.class, get("service", Integer.toString(id)));
  }

  /** PUT /service/{id}. */
  public ServiceModel putService(int id, ServiceSpecModel service) throws IOException {
    return one(
        ServiceModel.class, send("PUT", RequestPath.of("service", Integer.toString(id)), service));
  }

  /** DELETE /service/{id}. */
  public void deleteService(int id) throws IOException {
    drain(send("DELETE", RequestPath.of("service", Integer.toString(id)), null));
  }

  /**
   * GET /fqdn/cache.
   *
   * @param matchPattern pattern of names, or null for all
   * @param cidr CIDR that has one of the addresses, or null for all
   */
  public List<FqdnLookupModel> names(String matchPattern, String cidr) throws IOException {
    return list(FqdnLookupModel.class, get(matching(matchPattern, cidr, "fqdn", "cache")));
  }

  /** GET /fqdn/cache/{id}, with the parameters of {@link #names}. */
  public List<FqdnLookupModel> namesOfEndpoint(String id, String matchPattern, String cidr)
      throws IOException {
    return list(FqdnLookupModel.class, get(matching(matchPattern, cidr, "fqdn", "cache", id)));
  }

  /** DELETE /fqdn/cache; without a pattern all names. */
  public void deleteNames(String matchPattern) throws IOException {
    drain(send("DELETE", matching(matchPattern, null, "fqdn", "cache"), null));
  }

  private static RequestPath matching(String pattern, String cidr, String... segments) {
    return RequestPath.of(segments).query("matchpattern", pattern).query("cidr", cidr);
  }

  /** GET /prefilter. */
  public PrefilterModel prefilter() throws IOException {
    return one(PrefilterModel.class, get("prefilter"));
  }

  /** PATCH /prefilter. */
  public PrefilterModel addToPrefilter(PrefilterListModel change) throws IOException {
    return one(PrefilterModel.class, send("PATCH", RequestPath.of("prefilter"), change));
  }

  /** DELETE /prefilter. */
  public PrefilterModel removeFromPrefilter(PrefilterListModel change) throws IOException {
    return one(PrefilterModel.class, send("DELETE", RequestPath.of("prefilter"), change));
  }

  /** GET /map. */
  public MapListModel maps() throws IOException {
    return one(MapListModel.class, get("map"));
  }

  /** GET /map/{name}, all of it in memory. */
  public MapContentsModel map(String name) throws IOException {
    return one(MapContentsModel.class, get("map", name));
  }

  /**
   * Makes a call whose answer the caller reads as a stream, for answers too large for memory.
   *
   * @param method HTTP method
   * @param path path and query
   * @param body JSON text, or null
   * @return the answer's body, valid until the next call
   */
  public InputStream open(String method, RequestPath path, String body) throws IOException {
    return open(
        method, path, Map.of(), body == null ? null : body.getBytes(StandardCharsets.UTF_8));
  }

  private JsonMapper mapper() {
    if (mapper == null) {
      mapper = WireFormat.lenientMapper();
    }
    return mapper;
  }

  private InputStream get(String... segments) throws IOException {
    return get(RequestPath.of(segments));
  }

  private InputStream get(RequestPath path) throws IOException {
    return open("GET", path, Map.of(), null);
  }

  private InputStream send(String method, RequestPath path, Object body) throws IOException {
    return open(method, path, Map.of(), body == null ? null : mapper().writeValueAsBytes(body));
  }

  /**
   * Makes a call with headers whose answer the caller reads as a stream.
   *
   * @param method HTTP method
   * @param path path and query
   * @param headers names and values
   * @param body JSON text in UTF-8, or null
   * @return the answer's body, valid until the next call
   */
  public InputStream open(String method, RequestPath path, Map<String, String> headers, byte[] body)
      throws IOException {
    final HttpCaller.HttpAnswer answer = caller.call(method, path, headers, body);
    if (answer.status() >= FIRST_ERROR) {
      throw new AgentException(answer.status(), message(answer));
    }
    return answer.body();
  }

  /** The body of an error is a JSON string; another body is returned unchanged. */
  private String message(HttpCaller.HttpAnswer answer) throws IOException {
    final byte[] body = answer.body().readAllBytes();
    try (JsonParser json = new JsonFactory().createParser(ObjectReadContext.empty(), body)) {
      if (json.nextToken() == JsonToken.VALUE_STRING) {
        return json.getString();
      }
    } catch (JacksonException e) {
      // It is not JSON: a program between has answered.
    }
    final String text = new String(body, StandardCharsets.UTF_8).strip();
    return text.isEmpty() ? "HTTP status " + answer.status() : text;
  }

  private <T> T one(Class<T> type, InputStream body) throws IOException {
    return read(mapper().constructType(type), body);
  }

  private <T> List<T> list(Class<T> type, InputStream body) throws IOException {
    return read(mapper().getTypeFactory().constructCollectionType(List.class, type), body);
  }

  private <T> T read(JavaType type, InputStream body) throws IOException {
    try {
      return mapper().readValue(body, type); // to its end: nothing may follow the value
    } catch (JacksonException e) {
      if (e.getCause() instanceof IOException broken) {
        throw broken;
      }
      throw new IOException("the agent's answer cannot be read: " + e.getOriginalMessage(), e);
    }
  }

  private static void drain(InputStream body) throws IOException {
    body.transferTo(java.io.OutputStream.nullOutputStream());
  }

  @Override
  public void close() throws IOException {
    caller.close();
  }
}
