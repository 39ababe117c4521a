package agent.policy.resolve;

import agent.contract.WireFormat;
import agent.contract.policy.RuleModel;
import agent.datapath.spec.RedirectedFlow;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalIdentityAllocator;
import agent.policy.PolicyChange;
import agent.policy.PolicyCommit;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.PolicyUpdate;
import agent.policy.PolicyUpdate.EndpointPolicyChange;
import agent.policy.repository.Replacement;
import agent.policy.request.RequestPolicies;
import agent.server.handler.RuleCodec;
import agent.types.IpAddress;
import java.util.List;
import java.util.StringJoiner;
import tools.jackson.core.type.TypeReference;

/**
 * A policy engine with two endpoints: a client, {@code app=web}, and a server, {@code app=shop}.
 * Peers are further identities without an endpoint.
 */
public final class BenchmarkPolicy {
  private static final int CLIENT = 1;
  private static final int SERVER = 2;

  private final LocalIdentityAllocator identities = new LocalIdentityAllocator();
  private final Identity client = identity("app=web");
  private final Identity server = identity("app=shop");
  private final PolicyEngine engine =
      PolicyEngine.open(
          new PolicyContext()
              .identities(identities)
              .allowLocalhost(AllowLocalhost.AUTO)
              .conclude());

  /** Creates an engine without rules. */
  public BenchmarkPolicy() {
    publish(engine.endpointSet(CLIENT, client, List.of()));
    publish(engine.endpointSet(SERVER, server, List.of()));
  }

  private Identity identity(String label) {
    return identities.acquire(LabelSet.parse("labels", List.of(label))).join();
  }

  private void publish(PolicyUpdate update) {
    for (final List<EndpointPolicyChange> part :
        List.of(update.bridges(), update.endpoints(), update.cleanups())) {
      engine.publish(update.revision(), part);
    }
  }

  /**
   * Adds rules.
   *
   * @param rules an array of them, in JSON
   */
  public void add(String rules) {
    final List<RuleModel> models =
        WireFormat.strictMapper().readValue(rules, new TypeReference<List<RuleModel>>() {});
    final PolicyChange change =
        PolicyChange.add(RuleCodec.decode(models), Replacement.of(false, List.of()));
    final PolicyCommit commit = engine.commit(List.of(change)).getFirst();
    final RuntimeException refusal = commit.results().getFirst().refusal();
    if (refusal != null) {
      throw refusal;
    }
    publish(commit.update());
  }

  /**
   * Adds rules that let peers reach the server, one of them a rule, every second one by a CIDR;
   * each peer that is not has an identity.
   */
  public void addPeers(int rules) {
    final StringJoiner text = new StringJoiner(",", "[", "]");
    for (int i = 0; i < rules; i++) {
      final boolean isCidr = i % 2 == 1;
      if (!isCidr) {
        identity("app=peer" + i);
      }
      final String peer =
          isCidr
              ? "\"fromCIDR\":[\"198.18.%d.%d/32\"]".formatted(i >> 8, i & 0xff)
              : "\"fromEndpoints\":[{\"matchLabels\":{\"app\":\"peer%d\"}}]".formatted(i);
      text.add(
          """
          {"endpointSelector":{"matchLabels":{"app":"shop"}},"ingress":[{%s,
          "toPorts":[{"ports":[{"port":"%d","protocol":"TCP"}]}]}]}"""
              .formatted(peer, 8000 + i % 100));
    }
    add(text.toString());
  }

  /** Resolves all rules for the server. */
  ResolvedPolicy resolveServer() {
    return engine.wanted(server, List.of());
  }

  /** Returns the policies that proxies ask. */
  public RequestPolicies requests() {
    return engine.requests();
  }

  /** Returns a flow of the client to the server. */
  public RedirectedFlow flowToServer(int protocol, int port) {
    return new RedirectedFlow(
        protocol,
        IpAddress.parse("10.1.0.1"),
        40_000,
        client.id(),
        CLIENT,
        IpAddress.parse("10.1.0.2"),
        port,
        server.id(),
        SERVER);
  }
}
