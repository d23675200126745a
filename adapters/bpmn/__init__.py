"""Process models in BPMN: the tools that an ad-hoc sub-process gives to an agent."""
