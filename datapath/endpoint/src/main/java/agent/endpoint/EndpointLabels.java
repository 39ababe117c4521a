package agent.endpoint;

import java.util.List;

/**
 * The label sets of an endpoint, in display form and sorted.
 *
 * @param user labels set by users, as asked for
 * @param realizedUser labels set by users that are in effect
 * @param derived labels that came with the endpoint, from whoever created it
 * @param disabled derived labels that have no effect: a user label took their place
 * @param securityRelevant the labels that make the identity
 */
public record EndpointLabels(
    List<String> user,
    List<String> realizedUser,
    List<String> derived,
    List<String> disabled,
    List<String> securityRelevant) {}
