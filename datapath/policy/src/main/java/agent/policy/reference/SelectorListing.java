package agent.policy.reference;

import java.util.List;

/**
 * A selector of the rules and what it selects, for GET /policy/selectors.
 *
 * @param selector readable, for example {@code any:app=web}
 * @param identities the identities that it selects now, in order
 * @param users how many rules use it
 * @param labels the labels of those rules
 */
public record SelectorListing(
    String selector, List<Integer> identities, int users, List<List<String>> labels) {}
