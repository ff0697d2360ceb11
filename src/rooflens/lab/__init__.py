"""The main job: a profile becomes observations, artefacts, a picture and an interpretation."""
