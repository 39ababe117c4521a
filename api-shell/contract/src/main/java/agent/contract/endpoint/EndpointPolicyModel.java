package agent.contract.endpoint;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Policy of an endpoint.
 *
 * @param proxyPolicyRevision revision enforced in the proxy
 * @param proxyStatistics traffic of the proxy
 * @param realized policy in force
 * @param spec policy asked for
 */
public record EndpointPolicyModel(
    @JsonProperty("proxy-policy-revision") Long proxyPolicyRevision,
    @JsonProperty("proxy-statistics") List<ProxyStatistics> proxyStatistics,
    @JsonProperty("realized") Resolved realized,
    @JsonProperty("spec") Resolved spec) {

  /**
   * Policy as resolved for one endpoint.
   *
   * @param allowedEgressAny whether it may reach every identity on some port, the denied ones aside
   * @param allowedEgressIdentities identities it may reach
   * @param allowedIngressAny whether every identity may reach it on some port, the denied ones
   *     aside
   * @param allowedIngressIdentities identities that may reach it
   * @param build build number of the policy
   * @param cidrPolicy rules on CIDRs
   * @param deniedEgressAny whether some port of every identity is denied to it
   * @param deniedEgressIdentities identities it must not reach
   * @param deniedIngressAny whether some port of it is denied to every identity
   * @param deniedIngressIdentities identities that must not reach it
   * @param id identity of the endpoint
   * @param l4 rules on ports
   * @param policyEnabled ingress, egress, both or none
   * @param policyRevision revision of the policy repository
   */
  public record Resolved(
      @JsonProperty("allowed-egress-any") Boolean allowedEgressAny,
      @JsonProperty("allowed-egress-identities") List<Long> allowedEgressIdentities,
      @JsonProperty("allowed-ingress-any") Boolean allowedIngressAny,
      @JsonProperty("allowed-ingress-identities") List<Long> allowedIngressIdentities,
      @JsonProperty("build") Long build,
      @JsonProperty("cidr-policy") Directions cidrPolicy,
      @JsonProperty("denied-egress-any") Boolean deniedEgressAny,
      @JsonProperty("denied-egress-identities") List<Long> deniedEgressIdentities,
      @JsonProperty("denied-ingress-any") Boolean deniedIngressAny,
      @JsonProperty("denied-ingress-identities") List<Long> deniedIngressIdentities,
      @JsonProperty("id") Long id,
      @JsonProperty("l4") Directions l4,
      @JsonProperty("policy-enabled") String policyEnabled,
      @JsonProperty("policy-revision") Long policyRevision) {}

  /**
   * Rules by direction.
   *
   * @param egress rules on traffic from it
   * @param ingress rules on traffic to it
   */
  public record Directions(
      @JsonProperty("egress") List<DerivedRule> egress,
      @JsonProperty("ingress") List<DerivedRule> ingress) {}

  /**
   * A rule with the labels of the rules it derives from.
   *
   * @param derivedFromRules labels of each of those rules
   * @param rule the rule
   */
  public record DerivedRule(
      @JsonProperty("derived-from-rules") List<List<String>> derivedFromRules,
      @JsonProperty("rule") String rule) {}

  /**
   * Traffic of one proxy redirect.
   *
   * @param allocatedProxyPort port the proxy listens on
   * @param location where the redirect is installed
   * @param port port subject to the redirect; of a range the first, or one that has had a flow
   * @param protocol L7 protocol
   * @param statistics counts
   */
  public record ProxyStatistics(
      @JsonProperty("allocated-proxy-port") Integer allocatedProxyPort,
      @JsonProperty("location") String location,
      @JsonProperty("port") Integer port,
      @JsonProperty("protocol") String protocol,
      @JsonProperty("statistics") Statistics statistics) {}

  /**
   * Counts by direction.
   *
   * @param requests requests
   * @param responses responses
   */
  public record Statistics(
      @JsonProperty("requests") Counts requests, @JsonProperty("responses") Counts responses) {}

  /**
   * Messages by outcome.
   *
   * @param denied denied
   * @param error could not be read or sent on, or had no answer
   * @param forwarded forwarded
   * @param received received
   */
  public record Counts(
      @JsonProperty("denied") Long denied,
      @JsonProperty("error") Long error,
      @JsonProperty("forwarded") Long forwarded,
      @JsonProperty("received") Long received) {}
}
