package agent.endpoint.state;

import java.util.List;

/**
 * The label sets of an endpoint, in display form and sorted.
 *
 * @param user the requested user labels
 * @param realizedUser the user labels in effect
 * @param derived the labels of the create request
 * @param disabled derived labels that a user label overrides
 * @param securityRelevant the identity-relevant labels
 */
public record EndpointLabels(
    List<String> user,
    List<String> realizedUser,
    List<String> derived,
    List<String> disabled,
    List<String> securityRelevant) {}
