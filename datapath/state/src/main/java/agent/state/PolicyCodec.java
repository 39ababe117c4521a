package agent.state;

import agent.policy.repository.PolicyState;
import agent.policy.rule.RuleCount;
import agent.policy.spec.RuleSpec;
import agent.types.KeptTexts;

/**
 * The codec of {@code policy/rules.json} and {@code policy/rules-copy.json}. Each change writes all
 * rules: most are those that it has written before.
 */
final class PolicyCodec implements Codec<PolicyState> {
  private final KeptTexts<RuleSpec> texts =
      RuleCount.texts(rule -> DocumentWriter.text(rule, PolicyRuleCodec::writeRule));

  @Override
  public void write(DocumentWriter out, PolicyState state) {
    out.beginObject();
    out.member("revision", state.revision(), DocumentWriter::longInteger);
    out.member(
        "rules",
        state.rules(),
        (to, rules) -> to.keptList(rules, texts, PolicyRuleCodec::writeRule));
    out.member(
        "cidrIdentities",
        state.cidrIdentities(),
        (to, identities) -> to.list(identities, PolicyCodec::writeIdentity));
    out.endObject();
  }

  @Override
  public PolicyState read(DocumentReader in) throws DamagedStateException {
    in.beginObject();
    final PolicyState state =
        new PolicyState(
            in.member("revision", DocumentReader::longInteger),
            in.member("rules", from -> from.list(PolicyRuleCodec::readRule)),
            in.member("cidrIdentities", from -> from.list(PolicyCodec::readIdentity)));
    in.endObject();
    return state;
  }

  private static void writeIdentity(DocumentWriter out, PolicyState.CidrIdentity identity) {
    out.beginObject();
    out.member("cidr", identity.cidr(), DocumentWriter::text);
    out.member("identity", identity.identity(), DocumentWriter::integer);
    out.endObject();
  }

  private static PolicyState.CidrIdentity readIdentity(DocumentReader in)
      throws DamagedStateException {
    in.beginObject();
    final PolicyState.CidrIdentity identity =
        new PolicyState.CidrIdentity(
            in.member("cidr", DocumentReader::text),
            in.member("identity", DocumentReader::integer));
    in.endObject();
    return identity;
  }
}
