package agent.policy.model;

import agent.identity.LabelSet;
import agent.policy.spec.NamedPort;
import java.util.List;

/**
 * An endpoint with its named ports.
 *
 * @param labels its labels
 * @param ports its named ports
 */
public record NaiveEndpoint(LabelSet labels, List<NamedPort> ports) {}
