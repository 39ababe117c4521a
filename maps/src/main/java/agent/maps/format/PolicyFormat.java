package agent.maps.format;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyEntryFlyweight;
import agent.maps.layout.PolicyFlag;
import agent.maps.layout.PolicyKeyFlyweight;
import agent.maps.layout.PolicyPrefix;
import org.agrona.MutableDirectBuffer;

/** Formats policy entries as {@code ingress identity 2031 TCP/443} and {@code allow}. */
final class PolicyFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final PolicyKeyFlyweight policy = new PolicyKeyFlyweight().wrap(key, keyOffset);
    out.append(policy.direction() == PolicyDirection.INGRESS.number() ? "ingress " : "egress ");
    if (policy.identity() == 0) {
      out.append("any identity");
    } else {
      FieldText.unsigned(out.append("identity "), policy.identity());
    }
    if (policy.prefixLength() >= PolicyPrefix.PROTOCOL) {
      FieldText.protocol(out.append(' '), policy.protocol());
    }
    if (policy.prefixLength() > PolicyPrefix.PROTOCOL) {
      final int free = (1 << PolicyPrefix.PORT - policy.prefixLength()) - 1;
      final int first = policy.port() & ~free;
      out.append('/').append(first);
      if (free != 0) {
        out.append('-').append(first | free);
      }
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final PolicyEntryFlyweight entry = new PolicyEntryFlyweight().wrap(value, valueOffset);
    final int flags = entry.flags();
    out.append((flags & PolicyFlag.DENY.number()) != 0 ? "deny" : "allow");
    if ((flags & PolicyFlag.REDIRECT.number()) != 0) {
      out.append(", redirect to proxy ").append(entry.redirect());
    }
    if ((flags & PolicyFlag.AUDIT.number()) != 0) {
      out.append(", audit");
    }
  }
}
