/** The daemon as the API shows it: status, health, configuration, and its own metrics. */
package agent.launcher.view;
