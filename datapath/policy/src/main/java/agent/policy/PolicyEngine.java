package agent.policy;

import agent.identity.Identity;
import agent.policy.spec.RuleSpec;
import java.util.List;
import java.util.Optional;

/**
 * The rules of this node and what they mean for its endpoints. It listens to the identities, so
 * that every call also tells of the endpoints whose policy changed because an identity appeared or
 * went since the call before. Changes come from one thread (that of the endpoints); any thread may
 * read.
 *
 * <p>An endpoint's identity is acquired before {@link #endpointSet} and released after {@link
 * #endpointRemoved}; after a release {@link #refresh} tells who is affected.
 */
public final class PolicyEngine {
  private PolicyEngine() {}

  /**
   * Takes up the rules of the store. Their CIDRs have the identities that they had before; the
   * ipcache entries of all of them are in the update of the first call.
   *
   * @param context concluded
   * @return the engine
   */
  public static PolicyEngine open(PolicyContext context) {
    throw new UnsupportedOperationException();
  }

  /**
   * Adds rules, all or none, and counts the revision up. The rules are in the store before the call
   * returns.
   *
   * @param specs the rules; refusals name {@code [index]} and the path in it
   * @param replaceSameLabels whether rules that have the very same labels as one of the new ones go
   * @return what follows
   * @throws agent.terms.Refusal INVALID for a bad rule, EXHAUSTED where a policy map would overflow
   *     or identities run out; then nothing has changed
   */
  public PolicyUpdate add(List<RuleSpec> specs, boolean replaceSameLabels) {
    throw new UnsupportedOperationException();
  }

  /**
   * Removes the rules that have all of these labels, and counts the revision up.
   *
   * @param labels {@code [source:]key[=value]}, without a source any; none removes all rules
   * @return what follows
   * @throws agent.terms.Refusal NOT_FOUND where labels were given and no rule has them
   */
  public PolicyUpdate delete(List<String> labels) {
    throw new UnsupportedOperationException();
  }

  /**
   * An endpoint is there, or has another identity.
   *
   * @param endpointId the endpoint
   * @param identity its identity
   * @return what follows; the endpoint itself is in it, with a diff from what it had before
   * @throws agent.terms.Refusal EXHAUSTED where its policy map would overflow; nothing has changed
   */
  public PolicyUpdate endpointSet(int endpointId, Identity identity) {
    throw new UnsupportedOperationException();
  }

  /** An endpoint is gone. */
  public PolicyUpdate endpointRemoved(int endpointId) {
    throw new UnsupportedOperationException();
  }

  /** Changes when policy is enforced. */
  public PolicyUpdate setMode(EnforcementMode mode) {
    throw new UnsupportedOperationException();
  }

  /** When policy is enforced. */
  public EnforcementMode mode() {
    throw new UnsupportedOperationException();
  }

  /** What follows from identities that appeared or went since the call before. */
  public PolicyUpdate refresh() {
    throw new UnsupportedOperationException();
  }

  /** The policy of an endpoint that is there. */
  public Optional<ResolvedPolicy> policyOf(int endpointId) {
    throw new UnsupportedOperationException();
  }

  /** The identities of the CIDRs that the rules name: what the ipcache holds for them. */
  public List<Identity> cidrIdentities() {
    throw new UnsupportedOperationException();
  }

  /** All rules. */
  public PolicySnapshot snapshot() {
    throw new UnsupportedOperationException();
  }

  /**
   * The rules that have all of these labels.
   *
   * @param labels {@code [source:]key[=value]}, without a source any; none returns all rules
   * @return the rules
   * @throws agent.terms.Refusal NOT_FOUND where labels were given and no rule has them
   */
  public PolicySnapshot snapshot(List<String> labels) {
    throw new UnsupportedOperationException();
  }

  /** The selectors of the rules and what they select. */
  public List<SelectorListing> selectors() {
    throw new UnsupportedOperationException();
  }
}
