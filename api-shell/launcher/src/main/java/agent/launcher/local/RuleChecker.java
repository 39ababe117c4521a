package agent.launcher.local;

import agent.cli.call.LocalParts.RuleFault;
import agent.contract.WireFormat;
import agent.contract.policy.RuleModel;
import agent.policy.read.RuleCheck;
import agent.policy.rule.Entity;
import agent.policy.spec.RuleSpec;
import agent.server.BodyFault;
import agent.server.handler.RuleCodec;
import agent.types.Refusal;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;
import tools.jackson.databind.json.JsonMapper;

/** Checks a rule as {@code PUT /policy} does, and adds what may stand at the wrong place. */
final class RuleChecker {
  private static final JsonMapper MAPPER = WireFormat.strictMapper();
  private static final Pattern ENTITY = Pattern.compile(".*(from|to)Entities\\[\\d+]");
  private static final String START = "[0]";

  private RuleChecker() {}

  /** Returns what is wrong first, or null. */
  static RuleFault check(String rule) {
    try {
      RuleCheck.check(0, read(rule));
      return null;
    } catch (UnrecognizedPropertyException e) {
      final List<String> known =
          e.getKnownPropertyIds().stream().map(Object::toString).sorted().toList();
      return fault(BodyFault.message(e), known, true);
    } catch (JacksonException e) {
      return fault(BodyFault.message(e), List.of(), false);
    } catch (Refusal e) {
      return fault(e.getMessage(), valuesAt(e.field()), false);
    }
  }

  private static RuleSpec read(String rule) {
    final List<RuleModel> rules =
        MAPPER.readValue(
            "[" + rule + "]",
            MAPPER.getTypeFactory().constructCollectionType(List.class, RuleModel.class));
    return RuleCodec.decode(rules).getFirst();
  }

  /** Returns the warnings about a valid rule that hold whatever options the agent has. */
  static List<String> warnings(String rule) {
    return RuleCheck.warnings(0, read(rule), true).stream()
        .map(warning -> warning.substring(START.length() + 1))
        .toList();
  }

  /** A message is the path, a colon, and what is wrong there; a path has no space. */
  private static RuleFault fault(String message, List<String> known, boolean isName) {
    final String[] parts = message.split(": ", 2);
    final String path = parts.length == 2 ? parts[0] : "";
    final String inside = path.startsWith(START) ? path.substring(START.length()) : path;
    return new RuleFault(
        inside.startsWith(".") ? inside.substring(1) : inside,
        parts[parts.length - 1],
        known,
        isName);
  }

  private static List<String> valuesAt(String path) {
    if (ENTITY.matcher(path).matches()) {
      return Arrays.stream(Entity.values()).map(Entity::text).toList();
    }
    return switch (path.substring(path.lastIndexOf('.') + 1)) {
      case "operator" -> List.of("In", "NotIn", "Exists", "DoesNotExist");
      case "protocol" -> List.of("TCP", "UDP", "SCTP", "ANY");
      case "family" -> List.of("IPv4", "IPv6");
      default -> List.of();
    };
  }
}
